; rulemill certificate 1, by definitions
;   rule statement(w1[d, d2], w2[d, e], w3[d, e2])
;     concat(concat(w1, w2; axis=1), w3; axis=1)
;     => concat(w1, concat(w2, w3; axis=1); axis=1)
; definition concat 8a17584c81ebe9c0d1e2eb20fa4e6c11
; solver 4.8.12.0
(set-logic QF_LIA)
(declare-const |d2| Int)
(declare-const |e| Int)
(declare-const |i1| Int)
(push 1) ; aligned products cancel
(assert (>= (+ (- 1) |d2| (* (- 1) |i1|)) 0))
(assert (>= (+ (- 1) |e|) 0))
(assert (not (= 0 (+ 0 (ite (>= (+ (- 1) |d2| |e| (* (- 1) |i1|)) 0) 1 0) (ite true (- 1) 0)))))
(check-sat)
(pop 1)
(push 1) ; aligned products cancel
(assert (>= (+ (* (- 1) |d2|) (* (- 1) |e|) |i1|) 0))
(assert (>= (+ (- 1) |e|) 0))
(assert (not (= 0 (+ 0 (ite true 1 0) (ite (>= (+ (* (- 1) |d2|) |i1|) 0) (- 1) 0)))))
(check-sat)
(pop 1)
