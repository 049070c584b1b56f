"""What each stage of the recipe adds: base, SFT, RL and both, with and without the tool, and fewer trajectories."""
