"""A proxy in front of any OpenAI-compatible model server, and faults on the model calls that go through it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
