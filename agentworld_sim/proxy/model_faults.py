"""Faults on an agent's own model calls: what they are, and which calls they strike. The proxy and the LangChain
middleware read the same definitions."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from agentworld_sim.errors import UsageError
from agentworld_sim.scenario import read_yaml
from agentworld_sim.types.json import canonical_json

ModelFaultKind = Literal[
    "refusal", "empty", "malformed-call", "cut-stream", "slow-first-token", "rate-limit"
]

REFUSAL = "I'm sorry, but I can't help with that."
"""What a model says that refuses."""

NO_JSON = '{"'
"""The arguments of a malformed call: cut off where they begin."""


class ModelFault(BaseModel):
    """Strikes the calls that all its selectors select; by default every call."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: ModelFaultKind
    """`refusal` says that it will not; `empty` says nothing; `malformed-call` calls a tool with arguments that
    are no JSON; `cut-stream` ends the connection in the middle of a reply; `slow-first-token` lets the reply
    wait; `rate-limit` answers 429 with the time after which to try again."""
    name: str = ""
    """Of its own among the faults; its kind by default."""
    model: str = "*"
    """Name of the model, or a pattern (`*`, `?`, `[…]`)."""
    nth: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), strict=False)
    """Which of the calls that fit it strikes, in the order in which they come: the first is 1; all by
    default."""
    probability: float = Field(default=1.0, gt=0, le=1)
    """How likely it strikes a call that is left; drawn from what the call asks, not from when it comes."""
    times: int | None = Field(default=None, ge=1)
    """The most calls it strikes; all by default."""
    seconds: float = Field(default=20.0, ge=0)
    """Before the first token of a slow reply, or until a rate limit lets calls through again."""

    @field_validator("seconds")
    @classmethod
    def _only_where_it_waits(cls, seconds: float, given: ValidationInfo) -> float:
        if given.data.get("kind", "rate-limit") not in ("slow-first-token", "rate-limit"):
            text = "nothing here; slow-first-token and rate-limit alone take it"
            raise PydanticCustomError("allowed", "{text}", {"text": text})
        return seconds

    def model_post_init(self, context: object, /) -> None:
        object.__setattr__(self, "name", self.name or self.kind)


class FaultSchedule:
    """Which fault strikes which call. It counts the calls of one run, in one process; safe to use from threads."""

    def __init__(self, faults: Iterable[ModelFault], *, seed: int = 0) -> None:
        """
        Args:
            faults: The first that strikes a call is the one it meets.
            seed: Of what is drawn.

        Raises:
            UsageError: there are none, or two have one name.
        """
        self.faults = tuple(faults)
        if not self.faults:
            raise UsageError("no model faults are given: nothing could ever strike.")
        for name, count in Counter(fault.name for fault in self.faults).items():
            if count > 1:
                raise UsageError(
                    f"two model faults are named {name!r}. Give one a `name` of its own."
                )
        self._seed = seed
        self._lock = threading.Lock()
        self._fitting: Counter[str] = Counter()
        self._struck: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a YAML file: a list under `faults`, and `seed`.

        Raises:
            UsageError: it cannot be read; the message names the fault.
        """
        read = read_yaml(path, _FaultFile)
        return cls(read.faults, seed=read.seed)

    @property
    def struck(self) -> Mapping[str, int]:
        """How many calls each fault has struck, by name."""
        with self._lock:
            return {fault.name: self._struck[fault.name] for fault in self.faults}

    def choose(self, model: str, messages: object, *, tools: bool) -> ModelFault | None:
        """The fault that strikes this call.

        Args:
            messages: The conversation, as JSON: what is drawn is the same for the same one.
            tools: Whether it is offered any: without, no call of one can be malformed.
        """
        digest = hashlib.sha256(canonical_json(messages).encode()).hexdigest()
        with self._lock:
            again = self._asked[digest]
            self._asked[digest] += 1
            fitting = [
                fault
                for fault in self.faults
                if fnmatchcase(model, fault.model) and (tools or fault.kind != "malformed-call")
            ]
            self._fitting.update(fault.name for fault in fitting)
            for fault in fitting:
                if self._strikes(fault, f"{digest}/{again}"):
                    self._struck[fault.name] += 1
                    return fault
        return None

    def _strikes(self, fault: ModelFault, call: str) -> bool:
        if fault.times is not None and self._struck[fault.name] >= fault.times:
            return False
        if fault.nth and self._fitting[fault.name] not in fault.nth:
            return False
        return Random(f"{self._seed}/{fault.name}/{call}").random() < fault.probability


class _FaultFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    faults: list[ModelFault]
    seed: int = 0
