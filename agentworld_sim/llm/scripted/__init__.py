"""An OpenAI-compatible model server that answers from a script: the fake for tests.

It speaks HTTP over a real socket, so that a client is tested whole, with its connections, its
stream parser and its retries. See `ScriptedModelServer`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
