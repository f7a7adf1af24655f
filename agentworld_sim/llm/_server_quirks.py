"""What a server turned out not to take, so that it is asked in its own manner from then on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from agentworld_sim.llm.failures import Refusal

OPTIONAL = (
    "top_k",
    "chat_template_kwargs",
    "thinking_token_budget",
    "seed",
    "response_format",
    "stream_options",
    "logprobs",
)
"""Fields that a reply is possible without."""

LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"

ABOUT_ONE_SCHEMA = re.compile(
    r"invalid schema|schema contains|unsupported schema|\bgrammar\b"
    r"|schema\b.*\b(?:feature|keyword|convert)|convert\b.*\bschema",
    re.IGNORECASE | re.DOTALL,
)
"""The server can enforce schemas, but not this one."""


@dataclass(frozen=True, slots=True)
class ServerQuirks:
    """Learnt from refusals; nothing of it is configured."""

    dropped: frozenset[str] = frozenset()
    """Fields the server refuses."""
    renamed: bool = False
    """Whether the limit goes by its newer name."""
    schemas: frozenset[str] = frozenset()
    """Schemas it could not turn into a grammar, by `fingerprint`."""

    def __or__(self, other: ServerQuirks) -> ServerQuirks:
        return ServerQuirks(
            self.dropped | other.dropped,
            self.renamed or other.renamed,
            self.schemas | other.schemas,
        )

    def apply(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The request as this server takes it."""
        kept = {name: value for name, value in fields.items() if name not in self.dropped}
        if self.renamed:
            kept = {NEW_LIMIT if name == LIMIT else name: value for name, value in kept.items()}
        if self.schemas and fingerprint(kept.get("response_format")) in self.schemas:
            del kept["response_format"]
        return kept

    def learn(self, refusal: Refusal, sent: Mapping[str, Any]) -> ServerQuirks | None:
        """The quirks after a refusal; `None` when it is about nothing that could be left out."""
        if refusal.status not in (400, 422) or refusal.overflow is not None:
            return None
        about_schema = ABOUT_ONE_SCHEMA.search(refusal.message) is not None
        if about_schema and "response_format" in sent:
            refused = fingerprint(sent["response_format"])
            return replace(self, schemas=self.schemas | {refused})
        if LIMIT in sent and refusal.names(LIMIT) and refusal.names(NEW_LIMIT):
            return replace(self, renamed=True)
        # One at a time: a server that echoes the request names them all.
        named = next((name for name in OPTIONAL if name in sent and refusal.names(name)), None)
        return None if named is None else replace(self, dropped=self.dropped | {named})


def fingerprint(value: object) -> str:
    """A short name of a JSON value."""
    return blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()
