"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check and what came of it."""

    check: str
    verdict: Verdict
    summary: str
    advice: str | None = None
    """What to do; names the exact flag where there is one."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """The same for machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was looked at."""

    url: str
    model: str | None
    findings: tuple[Finding, ...]
    requests: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def ok(self) -> bool:
        """Whether nothing failed; warnings do not count."""
        return all(one.verdict != "failed" for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "url": self.url,
            "model": self.model,
            "ok": self.ok,
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "checks": [
                {
                    "check": one.check,
                    "verdict": one.verdict,
                    "summary": one.summary,
                    "advice": one.advice,
                    "data": one.data,
                }
                for one in self.findings
            ],
        }
