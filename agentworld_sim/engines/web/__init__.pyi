from .instructions_on_pages import INSTRUCTIONS
from .page_copy import page_copy
from .requests import Internet, Upload, WebRequest, WebResponse
from .web_engine import WebEngine

__all__ = [
    "INSTRUCTIONS",
    "Internet",
    "Upload",
    "WebEngine",
    "WebRequest",
    "WebResponse",
    "page_copy",
]
