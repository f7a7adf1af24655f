"""How a world works inside: the steps, the commit, access, locks, and what puts the parts together."""
