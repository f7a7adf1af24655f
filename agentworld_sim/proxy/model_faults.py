"""Faults on an agent's own model calls: what they are, and which calls they strike. The proxy and the LangChain
middleware read the same definitions."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, Self, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.json import canonical_json

ModelFaultKind = Literal[
    "refusal", "empty", "malformed-call", "cut-stream", "slow-first-token", "rate-limit"
]

_OWN: Mapping[str, Mapping[str, Any]] = {
    "refusal": {"text": "I'm sorry, but I can't help with that."},
    "cut-stream": {"pieces": 3},
    "slow-first-token": {"seconds": 20.0},
    "rate-limit": {"seconds": 20.0},
}
"""By kind: the fields that it alone takes, with their values where nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFault:
    """Strikes the calls that all its selectors select; by default every call."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    kind: ModelFaultKind
    """`refusal` says that it will not; `empty` says nothing; `malformed-call` calls a tool with arguments that
    are no JSON; `cut-stream` ends the connection in the middle of a reply; `slow-first-token` lets the reply
    wait; `rate-limit` answers 429 with the time after which to try again."""
    name: str = ""
    """Of its own among the faults; its kind by default."""
    model: str = "*"
    """Name of the model, or a pattern (`*`, `?`, `[…]`)."""
    nth: tuple[int, ...] = ()
    """Which of the calls that fit it strikes, in the order in which they come: the first is 1; all by
    default."""
    every: int | None = None
    """It strikes one in so many of the calls that fit: the last of each."""
    probability: float = 1.0
    """How likely it strikes a call that is left; drawn from what the call asks, not from when it comes."""
    times: int | None = None
    """The most calls it strikes; all by default."""
    text: str | None = None
    """What a refusal says."""
    seconds: float | None = None
    """Before the first token of a slow reply, or until a rate limit lets calls through again; 20 by default."""
    pieces: int | None = None
    """How many events of a stream come before it is cut; 3 by default. Of a reply in one piece, half comes."""

    def __post_init__(self) -> None:
        """Fills in what was left out.

        Raises:
            UsageError: there is no such kind, it does not take a field, or it could never strike.
        """
        kinds = get_args(ModelFaultKind)
        if self.kind not in kinds:
            raise UsageError(
                f"there is no model fault {self.kind!r}.{nearest(self.kind, kinds)} There are:"
                f" {', '.join(kinds)}."
            )
        object.__setattr__(self, "name", self.name or self.kind)
        own = _OWN.get(self.kind, {})
        for field in ("text", "seconds", "pieces"):
            if field in own and getattr(self, field) is None:
                object.__setattr__(self, field, own[field])
            elif field not in own and getattr(self, field) is not None:
                raise self._refusal(field, f"{self.kind} takes no {field!r}")
        for field, least in {"every": 1, "times": 1, "pieces": 0, "seconds": 0}.items():
            if (value := getattr(self, field)) is not None and value < least:
                raise self._refusal(field, f"found {value}; give {least} or more")
        if any(number < 1 for number in self.nth):
            raise self._refusal("nth", "the first call is number 1")
        if not 0 < self.probability <= 1:
            raise self._refusal("probability", "give more than 0 and at most 1")

    def _refusal(self, field: str, why: str) -> UsageError:
        return UsageError(f"{field} of the model fault {self.name!r}: {why}.")


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
        names = [fault.name for fault in self.faults]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None or not names:
            raise UsageError(
                f"two model faults are named {twice!r}. Give one a `name` of its own."
                if twice
                else "no model faults are given: nothing could ever strike."
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
        import yaml
        from pydantic import TypeAdapter, ValidationError

        try:
            document: object = yaml.safe_load(path.read_text(encoding="utf-8"))
            # As JSON: a list is right where the fault has a tuple.
            read = TypeAdapter(_FaultFile).validate_json(json.dumps(document, default=str))
            return cls(read.faults, seed=read.seed)
        except OSError as error:
            raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UsageError(f"{str(path)!r} is no YAML: {error}") from None
        except ValidationError as error:
            first = error.errors()[0]
            *place, last = first["loc"] or ("the file",)
            known = [one.name for one in dataclasses.fields(ModelFault if place else _FaultFile)]
            hint = f"{nearest(str(last), known)} There are: {', '.join(known)}."
            where = ".".join(str(part) for part in (*place, last))
            raise UsageError(
                f"{str(path)!r}: {where}: {first['msg']}.{'' if last in known else hint}"
            ) from None
        except UsageError as error:
            raise UsageError(f"{str(path)!r}: {error}") from None

    @property
    def struck(self) -> Mapping[str, int]:
        """How many calls each fault has struck, by name."""
        with self._lock:
            return {fault.name: self._struck[fault.name] for fault in self.faults}

    def choose(self, model: str, messages: object, *, tools: bool) -> ModelFault | None:
        """The fault that strikes this call.

        Args:
            model: Its name.
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
        number = self._fitting[fault.name]
        if fault.times is not None and self._struck[fault.name] >= fault.times:
            return False
        if (fault.nth and number not in fault.nth) or (fault.every and number % fault.every):
            return False
        return Random(f"{self._seed}/{fault.name}/{call}").random() < fault.probability


@dataclass(frozen=True)
class _FaultFile:
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    faults: list[ModelFault]
    seed: int = 0
