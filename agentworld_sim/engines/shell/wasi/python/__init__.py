"""Python of the simulated machine."""
