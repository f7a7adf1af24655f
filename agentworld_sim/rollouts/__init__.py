"""Rollouts: many episodes of a policy in worlds at a time, token ids in and token ids out.

One rollout is one played episode with its tokens; a batch is what `RolloutEngine.run` plays together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
