; rulemill certificate 1, by definitions
;   rule statement(w1[d, d2])
;     transpose(transpose(w1; order=view, perm=[1,0]); order=view, perm=[1,0])
;     => w1
; definition transpose 410e8e6f94b2697500efc1084db9b8fc
; solver 4.8.12.0
(set-logic QF_LIA)
