"""From a question in a world to the key under which its answer is recorded.

What of the state an answer may depend on stands in the key as short digests that hold on every host: no
times, no seeds, no refs, and of the files only what differs from a freshly installed machine, since another
version of this library may ship another base image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, cast

from agentworld_sim.cassette._recorded_answers import Key, Place, short_digest, without_volatile
from agentworld_sim.ports import QuestionKey, StepContext
from agentworld_sim.redaction.environment import secrets_of
from agentworld_sim.redaction.records import Redaction
from agentworld_sim.types.files import FileEntry, content_sum
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Turn
from agentworld_sim.types.values import changed_keys

LONGEST_STDIN = 1_000
"""A longer input stands in the file as its digest."""

NOTHING = "nothing"
"""In place of the digest of what was imagined earlier."""

_OF_EVERY_SHELL = frozenset(
    "BASHOPTS EPOCHREALTIME EPOCHSECONDS EUID HOSTTYPE MACHTYPE OLDPWD OPTIND OSTYPE PPID PS4 PWD"
    " SHELLOPTS SHLVL _".split()
)
"""Variables that tell nothing of the world, or tell it twice."""


BOOKKEEPING = ("control/", "replay/")
"""Beginnings of the keys under which we count: nothing in the world."""

_MODULUS = 1 << 160


@dataclass(frozen=True, slots=True)
class KeyedQuestion:
    """A question, and the key under which its answer is recorded."""

    key: Key
    before: Callable[[], str]
    """Gives the digest of what was imagined earlier."""
    place: Place
    clean: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Takes secrets out of an answer."""


class Keys:
    """Makes keys: without secrets and without what differs each time."""

    def __init__(self, secrets: Sequence[str], volatile: Sequence[str]) -> None:
        self._secrets = tuple(secrets)
        self._volatile = tuple(volatile)
        self._known: dict[tuple[str, str], Mapping[str, Any]] = {}

    def question(
        self,
        key: QuestionKey,
        context: StepContext,
        history: Sequence[Turn],
        parts: StateParts,
    ) -> KeyedQuestion:
        """A question that an engine asks."""
        state = parts.of(context.state, key.files_sum)
        asked: Mapping[str, Any] = {}
        if key.kind == "tool":
            redaction = Redaction(self._secrets)
            asked = key.about
            name, about = key.name, self.arguments(ToolCall(key.name, asked))
            # Dictionaries take 1, 1.0 and true for one value: a mistake that every mode makes alike.
            equal = sum(
                turn.call.name == name and self.arguments(turn.call) == about for turn in history
            )
        else:
            user, hostname, env = key.env
            redaction = Redaction((*self._secrets, *secrets_of(env)))
            about = _command(redaction, key.about)
            argv = about["argv"]
            name = argv[0]
            shown = {name: value for name, value in env.items() if name not in _OF_EVERY_SHELL}
            state["env"] = short_digest([user, hostname, redaction.value(shown)])
            past = [inner.argv for turn in history for inner in turn.inner]
            equal = sum(
                redaction.words(words) == argv
                for words in (*past, *key.earlier)
                if words[:1] == (key.name,) and len(words) == len(argv)
            )
        return KeyedQuestion(
            Key(key.kind, name, about, equal, state),
            partial(self._before, history, context, key.earlier),
            (len(history), 0 if key.kind == "tool" else 1 + len(key.earlier)),
            partial(self._clean, redaction, asked),
        )

    def real(self, call: ToolCall, occurrence: int, depth: int) -> KeyedQuestion:
        """A call that a real tool answers, beside the world."""
        return KeyedQuestion(
            Key("real", call.name, self.arguments(call), occurrence),
            str,
            (depth, 0),
            partial(self._clean, Redaction(self._secrets), call.arguments),
        )

    def arguments(self, call: ToolCall) -> Mapping[str, Any]:
        """The arguments as they are recorded."""
        exact = (call.name, canonical_json(call.arguments))
        known = self._known.get(exact)
        if known is None:
            kept = without_volatile(call.name, call.arguments, self._volatile)
            redaction = Redaction(self._secrets)
            # Twice: a secret that stands under its name is one everywhere, before it too.
            redaction.value(kept)
            known = cast("Mapping[str, Any]", redaction.value(kept))
            self._known[exact] = known
        return known

    def text(self, text: str) -> str:
        """A text as it may be shown."""
        return Redaction(self._secrets).text(text)

    def _before(
        self,
        history: Sequence[Turn],
        context: StepContext,
        earlier: Sequence[tuple[str, ...]],
    ) -> str:
        """What a model said before that may have changed what no state tells."""
        from agentworld_sim.engines.shell.programs import only_looks

        redaction = Redaction(self._secrets)
        known: list[object] = []

        def add(commands: Iterable[tuple[str, ...]]) -> None:
            known.extend(redaction.words(argv) for argv in commands if not only_looks(argv))

        for turn in history:
            if turn.inner:
                add(inner.argv for inner in turn.inner)
            elif turn.observation.provenance in ("imagined", "replayed", "enforced"):
                tool = context.tools.get(turn.call.name)
                if tool is None or tool.annotations.get("readOnlyHint") is not True:
                    known.append([turn.call.name, self.arguments(turn.call)])
        add(earlier)
        return short_digest(known) if known else NOTHING

    def _clean(
        self, redaction: Redaction, arguments: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        redaction.value(arguments)
        redaction.value(answer)
        return cast("Mapping[str, Any]", redaction.value(answer))


class StateParts:
    """The digests of the worlds of one scenario."""

    def __init__(self, files_sum: int | None = None, seed: int = 0) -> None:
        """`files_sum`: of the machine's files before the scenario's came to it."""
        from agentworld_sim.engines.shell import Machine, machine_sum

        self._base = machine_sum(Machine()) if files_sum is None else files_sum
        self._seed = seed
        self._files: tuple[Mapping[str, FileEntry], int] = ({}, 0)
        self._values: tuple[Mapping[str, Any], int] = ({}, 0)

    def of(self, state: WorldState, files_sum: int | None = None) -> dict[str, str]:
        """The parts of the state before a turn, or with other files in its middle; what says nothing is left out."""
        if files_sum is None:
            files_sum = self._files_sum(state.files)
        parts: dict[str, str] = {}
        files = (files_sum - self._base) % _MODULUS
        if files:
            parts["files"] = short_digest(str(files))
        values = self._values_sum(state.values)
        if values:
            parts["values"] = short_digest(str(values))
        if state.seed != self._seed:
            # `fork(seed=…)` asks for other answers; the seed a world begins with does not.
            parts["seed"] = str(state.seed)
        return parts

    def _files_sum(self, files: Mapping[str, FileEntry]) -> int:
        # Most imagined calls change no file.
        known, total = self._files
        if known is not files:
            total = content_sum(files)
            self._files = (files, total)
        return total

    def _values_sum(self, values: Mapping[str, Any]) -> int:
        before, total = self._values
        for key in changed_keys(before, values):
            if not key.startswith(BOOKKEEPING):
                total -= _value_hash(key, before.get(key))
                total += _value_hash(key, values.get(key))
        total %= _MODULUS
        self._values = (values, total)
        return total


def _command(redaction: Redaction, about: Mapping[str, Any]) -> dict[str, Any]:
    """A command without secrets, and without a long input."""
    kept: dict[str, Any] = {"argv": redaction.words(about["argv"]), "cwd": about["cwd"]}
    if "stdin" in about:
        stdin = redaction.text(about["stdin"])
        if len(stdin) > LONGEST_STDIN:
            stdin = f"({len(stdin)} characters, {short_digest(stdin)})"
        kept["stdin"] = stdin
    return kept


def _value_hash(key: str, value: object) -> int:
    if value is None:
        return 0
    data = canonical_json([key, value]).encode()
    return int.from_bytes(blake2b(data, digest_size=20).digest())
