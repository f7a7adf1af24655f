from .requests import Internet, Upload, WebRequest, WebResponse
from .web_engine import WebEngine

__all__ = ["Internet", "Upload", "WebEngine", "WebRequest", "WebResponse"]
