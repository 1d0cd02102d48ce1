"""FIT, the mathematics: pure functions of small arrays, one for each equation of ``docs/math.md``.

An objective is the sum of two parts. The *encoding* says what samples tell about prototypes, the *alignment* what
descriptions tell about them:

    HPL()            = SphereEncoding       + OneWayAlignment
    as_published()   = LeastSquaresEncoding + OneWayAlignment
    variant="hpl1"   = LeastSquaresEncoding + TwoWayAlignment

Letters are the paper's, transposed: rows are classes. X samples, A descriptions, P prototypes, Z codes, D_v and D_c
visual and semantic super-prototypes; beta, lam, gamma the weights of encoding, semantic space and unlabeled samples.
"""
