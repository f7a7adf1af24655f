"""The embedded shell: bashkit, made to behave like a plain Debian machine.

Names are imported on first use: a world whose tools are tables only needs no shell.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
