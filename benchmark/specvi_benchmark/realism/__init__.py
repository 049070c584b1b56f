"""How real simulated spectra are: a classifier that saw nothing else is judged on labelled real ones."""
