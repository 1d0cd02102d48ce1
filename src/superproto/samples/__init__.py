"""READ: rows in chunks from memory, disk, Dask or a GPU; whitening."""
