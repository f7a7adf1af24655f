"""A request as a tool: how programs that stand outside of a world, real browsers among them, change it."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import STRING, KnownTool, ToolkitMaker, arguments

HEADERS = {
    "type": "array",
    "items": {"type": "array", "items": STRING, "minItems": 2, "maxItems": 2},
}
_BODY = "body? body_base64?"

_http = ToolkitMaker(
    toolkit="http",
    domain="web",
    operations="web",
    engine="web",
    output_schema=arguments(f"status:integer headers {_BODY}", headers=HEADERS),
    for_agents=False,
)

TOOLS: tuple[KnownTool, ...] = (
    _http(
        "http_request",
        "Sends one HTTP request, and gives the response. A body that is no text goes as `body_base64`.",
        arguments(f"method url headers? {_BODY}", headers=HEADERS),
    ),
)
