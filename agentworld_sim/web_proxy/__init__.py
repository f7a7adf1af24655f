"""A world's internet for programs outside of it: a forward proxy that nothing leaves."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
