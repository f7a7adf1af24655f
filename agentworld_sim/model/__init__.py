"""The language world model: what the engines cannot compute, it imagines."""
