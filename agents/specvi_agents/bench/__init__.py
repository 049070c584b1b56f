"""What the agents' side costs: own client against inspect_ai, on the same local echo server."""
