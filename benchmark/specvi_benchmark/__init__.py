"""Spectra, tasks, splits, runs and scores: what every other part of the suite stands on."""
