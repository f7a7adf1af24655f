"""GSPO on TRL: a trainer that overrides only what TRL lacks.

torch and TRL are loaded when a name is asked for, not when this is imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
