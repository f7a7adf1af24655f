"""How a world works inside: its steps, their commit, how branches merge, access, locks."""
