"""Scenarios: declarative, validated descriptions of worlds.

pydantic and YAML are imported here and nowhere else in the core, so that the rest stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
