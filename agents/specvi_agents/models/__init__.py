"""Models behind every backend: each turns a conversation into the next turn."""
