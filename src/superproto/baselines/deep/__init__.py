"""FIT with torch: the deep methods on given features, one file each; importing them needs no torch, fitting does."""
