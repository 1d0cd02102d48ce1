"""`superproto research`: the experiments, one file for each group of verbs.

Every verb writes only where an option tells it to. Plans are read from the package or the checkout; records are read
from the file given with --records, or from the folder benchmarks of a checkout.
"""
