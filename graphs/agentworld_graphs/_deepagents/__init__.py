"""A deepagents backend whose machine is a simulated world."""
