"""A checkpoint in this process: loading, prompts, generation. The only part of the agents, beside the tiny model, with torch."""
