"""`agentworld demo`: an ordinary agent mends a Python package in a simulated machine."""
