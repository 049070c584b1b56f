"""One file for each kind of probe; each defines ``PROBES``."""
