"""FIT, the mathematics: pure functions of small arrays, one for each equation of ``docs/math.md``.

Letters are the paper's, transposed: rows are classes. X samples, A descriptions, P prototypes, Z codes, D_v and D_c
visual and semantic super-prototypes; beta, lam, gamma the weights of encoding, semantic space and pool.
"""
