"""The language world model: what cannot be computed is imagined.

`WorldModel` is what a world is given; the rest is how it is reached, asked and read.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
