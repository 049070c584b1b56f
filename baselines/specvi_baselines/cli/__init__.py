"""Commands of the baselines."""
