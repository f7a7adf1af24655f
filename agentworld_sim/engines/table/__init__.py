"""Tables of records: any tool that creates, reads, lists, searches, changes or deletes them.

Names are imported on first use: a world that never touches a table needs little of this.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
