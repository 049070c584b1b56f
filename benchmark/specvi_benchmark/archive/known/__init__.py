"""What catalogues know of an archive's objects: rules for their tables, and labels by these rules."""
