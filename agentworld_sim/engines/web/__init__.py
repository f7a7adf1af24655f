"""The simulated web: pages as browsers read them."""
