"""Training of language world models, and of agents in worlds.

torch, TRL and their like come with the extra `train` and are imported only where they are needed.
"""
