"""Supervised fine-tuning on trajectories: the cold start."""
