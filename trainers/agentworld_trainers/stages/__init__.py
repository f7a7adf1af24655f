"""Stages of training: continued pre-training, supervised fine-tuning, and reinforcement learning.

Each stage takes a recipe and a run, and returns the folder of its result.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
