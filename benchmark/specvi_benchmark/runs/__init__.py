"""A run: one vetter over one split, in a folder that survives a kill and finishes only what is missing."""
