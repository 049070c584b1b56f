"""Commands of training. Each module is read by the program without being imported."""
