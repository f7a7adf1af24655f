"""Counts for Prometheus. Labels take values from small fixed sets, and never a client's words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from agentworld_mcp_shim._results import CallOutcome

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""What `prometheus_client` reads when it is imported."""

MAX_TOOLS = 500
"""Tools with a label of their own; the others share one."""

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 60)
"""Seconds. A computed answer takes milliseconds, an imagined one up to a minute."""


class Metrics:
    """What this process counts, and what all processes of the run have counted."""

    def __init__(
        self, folder: Path | None = None, *, open_worlds: Callable[[], int] = lambda: 0
    ) -> None:
        """
        Args:
            folder: Where several processes keep their counts; `None` for a single one.
        """
        if folder is not None:
            os.environ[FOLDER_VARIABLE] = str(folder)
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._folder = folder
        self._open_worlds = open_worlds
        self._registry = registry = CollectorRegistry()
        self._calls = Counter(
            "agentworld_mcp_calls",
            "Tool calls by tool, by where the answer came from, and by how it ended.",
            ("tool", "provenance", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "agentworld_mcp_call_seconds",
            "Time from a call to its result.",
            ("provenance",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._sessions = Counter(
            "agentworld_mcp_sessions",
            "Sessions of the older protocol that began and that clients ended.",
            ("event",),
            registry=registry,
        )
        self._refused = Counter(
            "agentworld_mcp_refused", "Requests that were refused.", ("reason",), registry=registry
        )
        self._worlds = Gauge(
            "agentworld_mcp_open_worlds",
            "Worlds that are open.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._running = Gauge(
            "agentworld_mcp_requests",
            "Requests that are being answered.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._tools: set[str] = set()

    def count_call(self, tool: str, outcome: CallOutcome, seconds: float) -> None:
        """Counts a call; `tool` is one that is known, or empty."""
        if tool and tool not in self._tools:
            if len(self._tools) < MAX_TOOLS:
                self._tools.add(tool)
            else:
                tool = "other"
        self._calls.labels(tool or "unknown", outcome.provenance, outcome.outcome).inc()
        self._seconds.labels(outcome.provenance).observe(seconds)
        self._worlds.set(self._open_worlds())

    def count_refusal(self, reason: str) -> None:
        """Counts a request that was refused."""
        self._refused.labels(reason).inc()

    def session(self, event: str) -> None:
        """Counts a session that `began` or `ended`."""
        self._sessions.labels(event).inc()

    def running(self, change: int) -> None:
        """Counts a request that comes or goes."""
        self._running.inc(change)

    def text(self) -> tuple[str, bytes]:
        """Content type and body for Prometheus."""
        from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

        self._worlds.set(self._open_worlds())
        registry = self._registry
        if self._folder is not None:
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry, str(self._folder))
        return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry)
