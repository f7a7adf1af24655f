from .client_settings import ready_lines
from .host_certificates import HostCertificates
from .proxy_server import web_proxy
from .world_internet import WorldInternet

__all__ = ["HostCertificates", "WorldInternet", "ready_lines", "web_proxy"]
