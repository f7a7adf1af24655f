"""All checks in order, each failure of one kept from the others."""

from __future__ import annotations

from collections.abc import Callable

from agentworld_sim.errors import ModelFailure
from agentworld_sim.llm.settings import require_url
from agentworld_sim.serving.doctor import _answer_checks as answers
from agentworld_sim.serving.doctor._cache_check import check_prefix_cache
from agentworld_sim.serving.doctor._connection import Connection
from agentworld_sim.serving.doctor._findings import Diagnosis, Finding
from agentworld_sim.serving.doctor._server_checks import (
    check_context,
    check_model,
    check_reachable,
)
from agentworld_sim.serving.doctor._speed_check import check_speed

OnFinding = Callable[[Finding], None]


def diagnose(
    url: str,
    *,
    model: str | None = None,
    api_key: str | None = None,
    quick: bool = False,
    count: int = 3,
    max_tokens: int = 4096,
    timeout: float = 300.0,
    on_finding: OnFinding | None = None,
) -> Diagnosis:
    """Looks at a model server.

    Args:
        url: The base URL of an OpenAI-compatible API.
        model: The name it should serve; the only one it serves by default.
        api_key: Sent as a bearer token.
        quick: Leave out structured output, seeds and speed.
        count: How many observations are asked for.
        max_tokens: Limit of each of these answers, thinking included.
        timeout: Seconds without a byte after which a request is given up.
        on_finding: Called with each finding when it is there.

    Raises:
        UsageError: the URL is not one.
    """
    require_url(url)
    connection = Connection(url, api_key=api_key, timeout=timeout)
    patient = _Patient(connection, on_finding)
    try:
        patient.examine(model, quick=quick, count=count, max_tokens=max_tokens)
    finally:
        connection.close()
    return Diagnosis(
        url=connection.url,
        model=patient.model,
        findings=tuple(patient.findings),
        requests=connection.requests,
        prompt_tokens=connection.prompt_tokens,
        completion_tokens=connection.completion_tokens,
    )


class _Patient:
    """A server under examination, and what was found so far."""

    def __init__(self, connection: Connection, on_finding: OnFinding | None) -> None:
        self.findings: list[Finding] = []
        self.model: str | None = None
        self._connection = connection
        self._on_finding = on_finding

    def examine(self, wanted: str | None, *, quick: bool, count: int, max_tokens: int) -> None:
        """Runs the checks; a server that fails an early one is not asked the later."""
        found, models = check_reachable(self._connection)
        self._add(*found)
        if models is None:
            return
        finding, served = check_model(models, wanted)
        self._add(finding)
        if served is None:
            return
        self.model = served.name
        self._connection.go_on_with(model=served.name)
        self._add(check_context(served))
        if served.context_tokens is not None:
            max_tokens = min(max_tokens, max(served.context_tokens // 2, 1))
        thinks = self._observations(count, max_tokens)
        if thinks is None:
            return
        self._guarded("prefix caching", lambda: [check_prefix_cache(self._connection)])
        if not quick:
            self._deeper(max_tokens, thinks=thinks)
        if self._connection.left_out & {"top_k", "chat_template_kwargs"}:
            self._add(_no_extensions())

    def _observations(self, count: int, max_tokens: int) -> bool | None:
        """Whether the model thinks; `None` if it does not answer."""
        try:
            given = answers.ask_for_observations(self._connection, count, max_tokens)
        except ModelFailure as failure:
            check = "key" if "refuses the key" in str(failure) else "answers"
            self._add(Finding(check=check, verdict="failed", summary=str(failure)))
            return None
        self._add(answers.check_thinking(given), answers.check_tag(given, max_tokens))
        return any(one.thinking for one in given)

    def _deeper(self, max_tokens: int, *, thinks: bool) -> None:
        connection = self._connection
        self._guarded(
            "structured output",
            lambda: [answers.check_structured_output(connection, max_tokens, thinks=thinks)],
        )
        self._guarded("seeds", lambda: [answers.check_seeds(connection)])
        self._guarded("speed", lambda: check_speed(connection))

    def _guarded(self, check: str, look: Callable[[], list[Finding]]) -> None:
        try:
            self._add(*look())
        except ModelFailure as failure:
            self._add(Finding(check=check, verdict="failed", summary=str(failure)))

    def _add(self, *findings: Finding) -> None:
        for finding in findings:
            self.findings.append(finding)
            if self._on_finding is not None:
                self._on_finding(finding)


def _no_extensions() -> Finding:
    return Finding(
        check="request fields",
        verdict="warning",
        summary="the server refuses top_k and chat_template_kwargs",
        advice="Sampling and thinking cannot be set as the model wants them. vLLM and SGLang take"
        " both.",
    )
