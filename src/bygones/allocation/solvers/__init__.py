"""The algorithms behind `allocate`, one file each; all are exact where the problem allows."""
