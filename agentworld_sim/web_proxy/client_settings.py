"""How clients are led through the proxy."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from agentworld_sim.web_proxy.host_certificates import HostCertificates

_SHOWN = 8


def ready_lines(url: str, hosts: Sequence[str], certificates: HostCertificates | None) -> list[str]:
    """The lines that say how a browser, Playwright's MCP server and others are led through the proxy at `url`."""
    more = f" and {len(hosts) - _SHOWN} more" * (len(hosts) > _SHOWN)
    browser = f'chromium --user-data-dir="$(mktemp -d)" --proxy-server={url}'
    playwright = f"npx @playwright/mcp@latest --proxy-server {url}"
    variables = {name: url for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    variables |= {"no_proxy": "", "NO_PROXY": "", "NODE_USE_ENV_PROXY": "1"}
    scheme = "http"
    if certificates is not None:
        scheme = "https"
        browser += f" --ignore-certificate-errors-spki-list={certificates.key_hash}"
        playwright += " --ignore-https-errors"
        trusting = "CURL_CA_BUNDLE SSL_CERT_FILE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS"
        variables |= dict.fromkeys(trusting.split(), str(certificates.authority))
    exports = " ".join(f"{name}={quote(value)}" for name, value in variables.items())
    return [
        f"hosts: {', '.join(hosts[:_SHOWN])}{more}",
        f"a browser:       {browser} {scheme}://{hosts[0]}/",
        f"Playwright MCP:  {playwright}",
        f"curl, Python, Node:  export {exports}",
    ]
