"""Records of a world seen as SQL, and base data: large data that never changes, shared by all worlds."""
