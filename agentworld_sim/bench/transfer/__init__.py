"""Replay transfer: what an agent did in a world, done again in the real thing, and whether it meets the goals there."""
