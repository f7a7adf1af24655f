"""The simulated web: pages as browsers read them, and a browser whose state is part of the world's."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
