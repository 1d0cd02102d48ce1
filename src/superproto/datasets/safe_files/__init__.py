"""LOAD: readers of MATLAB, HDF5 and NumPy files that run no code and allocate no more than the file can hold."""
