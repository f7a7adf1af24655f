"""Pure values: tools, calls, turns, states, refs, files. Nothing here imports anything else of ours.

What the modules hold beside these names is for the other packages of the core.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
