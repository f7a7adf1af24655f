"""The simulated web: requests and who answers them, and a browser whose state is part of the world's."""
