"""What those who run the service are told."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from tests.mcp.http.conftest import Serve, Served, said

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim


def samples(served: Served, name: str) -> dict[tuple[str, ...], float]:
    """Values by labels of one metric."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(served.get("/metrics").text):
        for sample in family.samples:
            if sample.name == name:
                found[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


async def test_metrics_tell_calls_sessions_worlds_and_refusals(serve: Serve) -> None:
    served = serve()
    async with served.client("legacy") as client:
        await said(client, "true")
        await client.call_tool("bash", {"wrong": 1})
        for number in range(3):
            assert (await client.call_tool(f"made-up-{number}", {})).is_error
    served.get("/healthz", {"host": "evil"})
    assert samples(served, "agentworld_mcp_calls_total") == {
        ("ok", "computed", "bash"): 1,
        ("error", "none", "bash"): 1,
        ("error", "none", "unknown"): 3,
    }
    assert samples(served, "agentworld_mcp_call_seconds_count")[("computed",)] == 1
    assert samples(served, "agentworld_mcp_sessions_total") == {("began",): 1, ("ended",): 1}
    assert samples(served, "agentworld_mcp_refused_total") == {("host",): 1}
    assert samples(served, "agentworld_mcp_open_worlds") == {(): 1}
    assert samples(served, "agentworld_mcp_requests") == {(): 0}


def test_it_is_not_ready_while_the_store_cannot_be_used(serve: Serve, shim: Shim) -> None:
    served = serve()
    assert served.get("/readyz").text == "ok\n"
    for file in shim.home.iterdir():
        if file.is_file():
            file.write_bytes(b"this is no database, though it was one a moment ago" * 100)
    answer = served.get("/readyz")
    assert (answer.status_code, served.get("/healthz").status_code) == (503, 200)
    assert "the log says why" in answer.text
    shutil.rmtree(shim.home)


async def test_the_span_of_a_call_says_where_its_answer_came_from_and_not_what_it_is(
    shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, because that is where spans can be looked at."""
    from opentelemetry import trace

    from agentworld_mcp_shim._handlers import MirrorHandlers, MirrorServer
    from agentworld_mcp_shim._listing import Listing
    from agentworld_mcp_shim._mirror import Mirror
    from agentworld_mcp_shim._pool import WorldPool
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._tool_calls import ToolCalls
    from agentworld_mcp_shim._worlds import WorldChoice
    from mcp import Client

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    shell: dict[str, Any] = {
        "name": "bash",
        "inputSchema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    }
    listing = Listing(
        identity={"name": "x", "version": "1"},
        lists={"tools/list": {None: {"tools": [shell]}}},
    )
    settings = ShimSettings(worlds=WorldChoice(world_id="w", memory=True))
    mirror = Mirror(listing)
    pool = WorldPool(settings)
    pool.show(mirror)
    server = MirrorServer(MirrorHandlers(mirror, pool.world, ToolCalls()))
    async with Client(server, cache=None) as client:
        await said(client, "echo very-private")
    await pool.aclose()
    (span,) = (
        one
        for one in exporter.get_finished_spans()
        if one.kind is trace.SpanKind.SERVER and one.name == "tools/call bash"
    )
    ours = {k: v for k, v in (span.attributes or {}).items() if k.startswith("agentworld.")}
    assert ours == {
        "agentworld.provenance": "computed",
        "agentworld.world": "w",
        "agentworld.route": "compute",
    }
    assert all("very-private" not in one.to_json() for one in exporter.get_finished_spans())
