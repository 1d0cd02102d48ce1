"""FIT: the model: objective, blocks, solver; weights, diagnosis, refinement, uncertainty."""

from superproto.hpl.estimator import HPL

__all__ = ["HPL"]
