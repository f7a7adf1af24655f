"""The kinds of control that a scenario can name, and the controls of a world at one point of its history: those of
this process, and those that its state declares."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from agentworld_sim.controls.observation_parts import without_lines
from agentworld_sim.errors import ControlFailure, UsageError, nearest
from agentworld_sim.ports import Control, StepContext
from agentworld_sim.ports.steps import PREFIX
from agentworld_sim.registry import Registry
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation

QUADRANTS = {
    "explicit transient": "Fault ServerError IntermittentError Timeout RateLimit ConnectionCut ExpiredToken",
    "explicit permanent": (
        "PermissionDenied Quota DiskFull VanishedTool ChangedSchema ReadOnly LockedAccount Paywall"
    ),
    "implicit transient": (
        "StaleRead DuplicatedWrite LostWrite PartialBatch TruncatedResult OutOfOrder SlowAnswer ClockSkew"
        " Noise DuplicateResults SpamResults"
    ),
    "implicit permanent": (
        "WrongUnit WithheldField WrongValue WrongEncoding Pagination IncompleteResult Contradiction OutdatedPage"
        " HiddenFact AdversarialText"
    ),
}
"""The kinds of this library by whether the agent is told that something went wrong, and whether it passes. There is a
module for each: `LostWrite` is `lost-write` in scenarios, in `lost_write.py`."""


def _kind_name(class_name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "-", class_name).lower()


BUILTIN_KINDS = {
    _kind_name(name): f"agentworld_sim.controls:{name}"
    for names in QUADRANTS.values()
    for name in names.split()
}
"""Where each is imported from when it is asked for: thirty dataclasses take longer than all else of a world."""


def quadrant_of(kind: str) -> str:
    """The quadrant of a kind; `other` for those of packages."""
    own = (one for one, names in QUADRANTS.items() if kind in map(_kind_name, names.split()))
    return next(own, "other")


def _control_class(value: object) -> type[Control]:
    if (
        isinstance(value, type)
        and dataclasses.is_dataclass(value)
        and Control in value.__mro__
        and any(field.name == "name" for field in dataclasses.fields(value))
    ):
        return cast("type[Control]", value)
    raise TypeError(f"{value!r} is not a dataclass that subclasses Control and has a field `name`")


control_kinds: Registry[type[Control]] = Registry(
    "agentworld.controls",
    what="kind of control",
    builtin=lambda: BUILTIN_KINDS,
    read=_control_class,
)
"""By name: dataclasses, whose fields are what a scenario says of one."""


DECLARED = f"{PREFIX}:declared"
"""Under which the state's values list the declared controls, as a scenario writes them. No control has
such a name."""


def declarations_of(state: WorldState) -> Sequence[Mapping[str, Any]]:
    """The controls that a state declares, as a scenario writes them."""
    return state.values.get(DECLARED) or ()


ReadDeclared = Callable[[Sequence[Mapping[str, Any] | str]], Iterable[Control]]
"""Makes controls of what a scenario writes of them; a text is the name of a profile."""


class ControlList:
    """What controls a world, for any of its states."""

    def __init__(self, local: Iterable[Control | str], read: ReadDeclared) -> None:
        """The controls of this process, in order, stand around the declared ones, which `read` makes.

        Raises:
            UsageError: one is no control and no profile's name, or two have one name.
        """
        self.local = tuple(
            made for one in local for made in (read([one]) if isinstance(one, str) else [one])
        )
        for control in self.local:
            if not isinstance(getattr(control, "name", None), str) or isinstance(control, Mapping):
                raise UsageError(
                    f"{control!r} is no control: give objects that subclass Control, such as Fault(…)."
                    " Data like this belongs into a scenario's `controls`."
                )
        _require_own_names(self.local)
        self._read_declared = read
        self._read: tuple[object, tuple[Control, ...]] = (None, self.local)
        self._told: tuple[object, str] = (None, "")

    def at(self, state: WorldState) -> tuple[Control, ...]:
        """All that hold in `state`, the outermost first.

        Raises:
            UsageError: two have one name.
        """
        declared: Sequence[Mapping[str, Any]] | None = state.values.get(DECLARED)
        read = self._read
        if declared is not read[0]:
            # Another thread may read for another state meanwhile.
            read = declared, (*self.local, *self._read_declared(declared or ()))
            _require_own_names(read[1])
            self._read = read
        return read[1]

    def instruction_at(self, state: WorldState) -> str:
        """What a model is told of those that hold in `state`, a line for each that says something.

        Raises:
            ControlFailure: a control raised.
        """
        controls, told = self.at(state), self._told
        if told[0] is not controls:
            # Controls say the same at every call.
            told = self._told = controls, _instruction_of(controls)
        return told[1]

    def values_after_switch(
        self, state: WorldState, add: Sequence[Mapping[str, Any]], remove: Sequence[str]
    ) -> dict[str, Any]:
        """The values of `state` that change when declared controls are added behind the others and those are
        removed that have one of these names, or patterns (`flaky-api-*`), with all they kept.

        Raises:
            UsageError: two have one name, or none has one of these.
        """
        declared = declarations_of(state)
        left = dict(zip((one.name for one in self._read_declared(declared)), declared, strict=True))
        values: dict[str, Any] = {}
        for pattern in remove:
            gone = [name for name in left if name == pattern or fnmatchcase(name, pattern)]
            if not gone:
                raise UsageError(
                    f"no control {pattern!r} is declared here.{nearest(pattern, left)} Declared:"
                    f" {', '.join(left) or 'none'}. A control that a process gave its world ends with"
                    " that process."
                )
            for name in gone:
                del left[name]
                own = f"{PREFIX}{name}"
                keys = (key for key in state.values if key == own or key.startswith(f"{own}/"))
                values.update(dict.fromkeys(keys))
        after = [*left.values(), *add]
        _require_own_names((*self.local, *self._read_declared(after)))
        return {**values, DECLARED: after or None}


def _require_own_names(controls: Sequence[Control]) -> None:
    names = [control.name for control in controls]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{names.count(name)} controls are named {name!r}, and what a control keeps is kept"
                " under its name. Rename all but one."
            )


def offered_tools(
    controls: Sequence[Control], tools: Mapping[str, ToolSpec], state: WorldState
) -> Mapping[str, ToolSpec]:
    """What an agent is offered of `tools`: the innermost control sees them as they are bound.

    Raises:
        ControlFailure: a control raised.
    """
    for control in reversed(controls):
        if type(control).tools is not Control.tools:
            try:
                tools = {tool.name: tool for tool in control.tools(list(tools.values()), state)}
            except Exception as error:
                raise control_failure(control, error) from error
    return tools


def _instruction_of(controls: Sequence[Control]) -> str:
    lines: list[str] = []
    for control in controls:
        try:
            lines.append(control.describe())
        except Exception as error:
            raise control_failure(control, error) from error
    return "\n".join(f"{line[0].upper()}{line[1:]}" for line in lines if line)


OBEDIENCE = "controls"
"""Under which the verdicts of a turn say whether imagined answers kept to the controls."""


async def obedient_observation(
    controls: Sequence[Control], step: StepContext, observation: Observation
) -> tuple[Observation, str]:
    """An imagined observation as it obeys all controls, and what it did not keep to, for the model; empty where it
    obeyed.

    Raises:
        ControlFailure: a control raised.
    """
    broken: list[str] = []
    for control in controls:
        try:
            made = await control.obedient(step.for_control(control), observation)
            told = control.describe()
        except Exception as error:
            raise control_failure(control, error) from error
        if told:
            # What the model is told of a control is nothing that the agent may read.
            quoted = re.compile(r"\s+".join(map(re.escape, told.split())), re.IGNORECASE)
            made = without_lines(made, quoted.search)
        if made is not observation:
            broken.append(told or control.name)
            observation = made
    reason = f"it must not do or say by itself what this is about: {' '.join(broken)}"
    return observation, reason if broken else ""


def control_failure(control: Control, error: Exception) -> ControlFailure:
    """What is raised when a control does; one that says so already stays as it is."""
    if isinstance(error, ControlFailure):
        return error
    return ControlFailure(
        f"the control {control.name!r} failed ({type(error).__name__}: {error}). Nothing was stored."
    )
