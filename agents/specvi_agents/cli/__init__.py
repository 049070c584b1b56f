"""Commands of the agents."""
