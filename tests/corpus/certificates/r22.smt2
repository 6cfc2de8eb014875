; rulemill certificate 1, by derivation
;   rule statement(x1[d, d2])
;     transpose(concat(x1, x1; axis=1); order=view, perm=[1,0])
;     => concat(transpose(x1; order=view, perm=[1,0]), transpose(x1; order=view, perm=[1,0]); axis=0)
; definition concat 8a17584c81ebe9c0d1e2eb20fa4e6c11
; definition transpose 410e8e6f94b2697500efc1084db9b8fc
; use r1: w1 := x1; d := d, d2 := d2
; use r16: x1 := transpose(x1; order=view, perm=[1,0]); d := d2, d2 := d
; use r1: w1 := concat(transpose(x1; order=view, perm=[1,0]), transpose(x1; order=view, perm=[1,0]); axis=0); d := 2*d2, d2 := d
(set-logic QF_UF)
(declare-sort Tensor 0)
(declare-fun |concat{axis=0}/2,2| (Tensor Tensor) Tensor)
(declare-fun |concat{axis=1}/2,2| (Tensor Tensor) Tensor)
(declare-fun |transpose{order=view,perm=[1,0]}/2| (Tensor) Tensor)
(declare-fun |x1| () Tensor)
(assert (= (|transpose{order=view,perm=[1,0]}/2| (|transpose{order=view,perm=[1,0]}/2| |x1|)) |x1|))
(assert (= (|transpose{order=view,perm=[1,0]}/2| (|concat{axis=0}/2,2| (|transpose{order=view,perm=[1,0]}/2| |x1|) (|transpose{order=view,perm=[1,0]}/2| |x1|))) (|concat{axis=1}/2,2| (|transpose{order=view,perm=[1,0]}/2| (|transpose{order=view,perm=[1,0]}/2| |x1|)) (|transpose{order=view,perm=[1,0]}/2| (|transpose{order=view,perm=[1,0]}/2| |x1|)))))
(assert (= (|transpose{order=view,perm=[1,0]}/2| (|transpose{order=view,perm=[1,0]}/2| (|concat{axis=0}/2,2| (|transpose{order=view,perm=[1,0]}/2| |x1|) (|transpose{order=view,perm=[1,0]}/2| |x1|)))) (|concat{axis=0}/2,2| (|transpose{order=view,perm=[1,0]}/2| |x1|) (|transpose{order=view,perm=[1,0]}/2| |x1|))))
(assert (not (and true (= (|transpose{order=view,perm=[1,0]}/2| (|concat{axis=1}/2,2| |x1| |x1|)) (|concat{axis=0}/2,2| (|transpose{order=view,perm=[1,0]}/2| |x1|) (|transpose{order=view,perm=[1,0]}/2| |x1|))))))
(check-sat)
