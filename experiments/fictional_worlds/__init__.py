"""What scripted agents score in fictional worlds, and what the results of searches show of the answers."""
