"""`CassetteSession`: what is recorded of one test, and what of it is replayed.

Only what cannot be computed is recorded: answers of the language world model, whole or in the middle of a
pipe, and answers of real tools. What is computed is computed again each time.
"""

from __future__ import annotations

import difflib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agentworld_sim.cassette._keys import BOOKKEEPING, KeyedQuestion, Keys, StateParts
from agentworld_sim.cassette._recorded_answers import Answers, Entry, in_order, miss, short_digest
from agentworld_sim.cassette._yaml import dump
from agentworld_sim.cassette.file import Cassette, writing
from agentworld_sim.errors import AgentworldError, ObservationRejected, UsageError
from agentworld_sim.ports import (
    ImaginedValue,
    Imaginer,
    PromptContext,
    Question,
    StepContext,
    WorldImaginer,
    accept_unchecked,
)
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation, Turn
from agentworld_sim.whole_file import write_file

if TYPE_CHECKING:
    from agentworld_sim.world import World

T = TypeVar("T")

CassetteMode = Literal["replay", "once", "live", "verify", "off"]
"""How recorded answers are used.

- `replay`: recorded answers only; what was not recorded is a `CassetteMiss`.
- `once`: as `replay` where there is a cassette; where there is none, everything is asked and recorded.
- `live`: the model is asked for everything, and the cassette is written anew. Real tools are not called:
  their recorded answers are replayed, and stay.
- `verify`: the model is asked for everything and its answers are compared with the recorded ones; what was
  computed is compared as well. Nothing is written. Real answers are replayed. The world goes on with what
  is recorded, so that each difference is told once.
- `off`: no cassette is read or written.
"""

NEXT_STEP = "record it anew with --sim-mode=live, or delete the file"

LETTERS = 8
"""Of the digest of a computed answer: enough to notice a difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CassetteReport:
    """What became of one cassette in one test."""

    path: Path
    mode: CassetteMode
    recorded: int = 0
    """Answers written now."""
    replayed: int = 0
    unused: tuple[str, ...] = ()
    """Recorded answers nobody asked for, each in one line."""
    drift: tuple[str, ...] = ()
    """In `verify`: what differs from what was recorded, each with what was recorded and what came."""


class CassetteSession:
    """The cassette of one test, in use. One may serve several worlds, tasks and threads."""

    def __init__(
        self,
        path: Path,
        mode: CassetteMode,
        *,
        secrets: Sequence[str] = (),
        volatile: Sequence[str] = (),
        shared: bool = False,
        began: float | None = None,
    ) -> None:
        """
        Args:
            path: The cassette, a YAML file. It need not be there.
            mode: How it is used.
            secrets: Values that must not be in the file, whatever they look like.
            volatile: Fields of arguments whose values differ each time, as `tool.path`.
            shared: Whether other tests and processes use the same file: what they recorded stays.
            began: When this run of the tests began, in seconds since the epoch. A shared cassette that
                another process of the run wrote since counts as not there in `once`.

        Raises:
            UsageError: the file is no cassette, or of another format version.
        """
        self._path = path
        self._mode: CassetteMode = mode
        self._shared = shared
        fresh = mode == "once" and shared and began is not None and _modified_since(path, began)
        self._file = None if mode == "off" or fresh else Cassette.find(path)
        self.records = mode == "live" or (mode == "once" and self._file is None)
        """Whether answers of models are recorded."""
        self.keys = Keys(secrets, (*volatile, *(self._file.volatile if self._file else ())))
        self._known = Answers(self._file.entries if self._file else ())
        self._new = Answers()
        self._computed: dict[str, tuple[int, ComputedAnswer]] = {}
        self._real: Counter[str] = Counter()
        self._used: set[int] = set()
        """`id`s of the known entries that were asked for."""
        self._compared: set[int] = set()
        self._replayed = 0
        self._with_model = False
        self._needed = False
        """Whether anything was asked at all, or a call was made."""
        self._missed: list[str] = []
        self._drift: list[str] = []
        self._lock = threading.Lock()

    def model(self, inner: WorldImaginer | None) -> WorldImaginer | None:
        """The model to give to worlds, in place of `inner`.

        Returns:
            One that records or replays; `None` when there is neither a model to ask nor a recording that a
            model made, so that the world computes as it does without a model. `World.create` is then given
            `False`, or it would look for one itself.

        Raises:
            UsageError: `live` or `verify` would ask a model, and there is none.
        """
        if self._mode == "off":
            return inner
        recorded = self._file is not None and self._file.model
        verifies = self._mode == "verify"
        if (self.records or verifies) and inner is None and recorded:
            raise UsageError(
                f"the mode {self._mode!r} asks a language world model, as was done for the cassette"
                f" {str(self._path)!r}, and there is none. Name one (AGENTWORLD_MODEL_URL)."
            )
        if self.records:
            self._with_model = self._with_model or inner is not None
            return None if inner is None else RecordedModel(self, inner)
        if verifies and inner is not None and (recorded or self._file is None):
            return RecordedModel(self, inner)
        return RecordedModel(self, None) if recorded else None

    @property
    def runs_real_tools(self) -> bool:
        """Whether a real tool that is allowed runs in this mode, instead of being replayed."""
        return self._mode == "off" or (self._mode == "once" and self.records)

    def record_real(self, call: ToolCall, depth: int, observation: Observation) -> None:
        """Keeps what a real tool said after so many turns of the world beside it. It is no turn of a world: equal
        calls are told apart by their order in the test."""
        if self._mode != "off":
            question = self._next_real(call, depth)
            answer = observation.to_json()
            del answer["provenance"]
            self._new.put(Entry(question.key, question.clean(answer), "", question.place))

    def replay_real(self, call: ToolCall, depth: int) -> Observation:
        """What a real tool said when this was recorded. Raises `CassetteMiss` for nothing."""
        entry = self._find_recorded(self._next_real(call, depth))
        return Observation.from_json({**entry.answer, "provenance": "replayed"})

    @property
    def missed(self) -> tuple[str, ...]:
        """The messages of all `CassetteMiss`es so far, also of those that somebody caught, as many agents
        do with what their tools raise."""
        return tuple(self._missed)

    async def watch(self, world: World) -> None:
        """Notes what a world did, and its computed answers for `verify`; called once, at the end of the
        test."""
        if self._mode == "off":
            return
        from agentworld_sim.engines.model_binding import PREFIX

        turns = await world.trajectory()
        # A tool that only a model answers binds to nothing in a replay that knows of no model, also when
        # the agent never called it.
        imagined = any((tool.binds_to or "").startswith(PREFIX) for tool in world.tools.values())
        self._needed = self._needed or bool(turns) or imagined
        if self._shared:
            # Of a shared world, each process and each selection of tests sees another part.
            return
        for depth, turn in enumerate(turns):
            if turn.observation.provenance == "computed":
                computed = ComputedAnswer.of(turn, self.keys.arguments(turn.call))
                self._computed[turn.ref] = (depth, computed)

    def finish(self, *, passed: bool) -> CassetteReport:
        """Writes what is to be written and says what became of the cassette. Writes nothing for a test
        that failed."""
        report = CassetteReport(path=self._path, mode=self._mode, replayed=self._replayed)
        if self._mode == "off" or not passed:
            return report
        ranked = sorted(self._computed.values(), key=lambda one: (one[0], one[1].line))
        computed = [one for _, one in ranked]
        wrote = self.records and self._write([one.line for one in computed])
        unused = [
            one.describe()
            for one in self._known
            if id(one) not in self._used and (one.key.kind == "real" or not self.records)
        ]
        drift = list(self._drift)
        if self._mode == "verify" and self._file is not None and not self._shared:
            drift += _computed_drift(self._file.computed, computed, self.keys.text)
        return replace(
            report,
            recorded=len(self._new) if wrote else 0,
            unused=tuple(sorted(unused)),
            drift=tuple(drift) if self._mode == "verify" else (),
        )

    async def answer(
        self, question: KeyedQuestion, ask: Callable[[], Awaitable[Mapping[str, Any]]] | None
    ) -> tuple[Mapping[str, Any], bool]:
        """The answer to a question of a world, and whether it was recorded before. Raises `CassetteMiss` where it is
        not, and nobody may be asked."""
        self._needed = True
        if ask is None or not (self.records or self._mode == "verify"):
            return self._find_recorded(question).answer, True
        before = question.before()
        held = self._new.exactly(question.key, before)
        if held is None:
            answer = question.clean(await ask())
            held = self._new.put(Entry(question.key, answer, before, question.place))
        if self.records:
            return held.answer, False
        # The world goes on with what is recorded, so that one difference is not taken for many.
        found = self._known.find(question.key, lambda: before)
        with self._lock:
            if id(held) not in self._compared:
                self._compared.add(id(held))
                self._drift += _drift(question, found, held.answer)
        if found is None:
            return held.answer, False
        self._use(found)
        return found.answer, True

    def _next_real(self, call: ToolCall, depth: int) -> KeyedQuestion:
        equal = canonical_json([call.name, self.keys.arguments(call)])
        with self._lock:
            question = self.keys.real(call, self._real[equal], depth)
            self._real[equal] += 1
        return question

    def _find_recorded(self, question: KeyedQuestion) -> Entry:
        """What is recorded. Raises `CassetteMiss` for nothing."""
        found = self._known.find(question.key, question.before)
        if found is not None:
            self._use(found)
            return found
        why = f"to have it, {NEXT_STEP}"
        if question.key.kind == "real":
            why = (
                "real tools run only in the mode `once` where there is no cassette. To have it, delete the"
                " file and run the test in that mode"
            )
        elif self._file is None:
            why = "to have one, run the test with --sim-mode=once and a model"
        known = None if self._file is None else self._known
        missed = miss(self._path, question.key, known, why)
        with self._lock:
            self._missed.append(str(missed))
        raise missed

    def _use(self, entry: Entry) -> None:
        with self._lock:
            self._used.add(id(entry))
            self._replayed += 1

    def _write(self, computed: Iterable[str]) -> bool:
        """Writes the cassette, if there is anything to write."""
        new = list(self._new)
        if not (new or self._file or (self._with_model and self._needed)):
            return False
        with writing(self._path) if self._shared else nullcontext():
            there = Cassette.find(self._path) if self._shared else self._file
            known = there.entries if there else ()
            again = {one.identity for one in new}
            kept = [
                one
                for one in known
                if (self._shared or one.key.kind == "real") and one.identity not in again
            ]
            cassette = Cassette(
                model=self._with_model or (self._shared and there is not None and there.model),
                entries=tuple(in_order(known, new, kept)),
                computed=tuple(computed),
            )
            write_file(self._path, cassette.text(all_before=self._shared))
        return True


class RecordedModel:
    """Implements `WorldImaginer`: a language world model whose answers are recorded, or said again without
    it.

    It stands where the model stands: behind the same bindings, before the same checks, and what it gives is
    committed like any answer. While it records, a world is told what is recorded, without secrets: so a
    replayed session is the recorded one.
    """

    def __init__(self, session: CassetteSession, inner: WorldImaginer | None) -> None:
        """`inner`: the model to ask; `None` to replay without one."""
        self._session = session
        self._inner = inner

    @property
    def name(self) -> str:
        return "" if self._inner is None else self._inner.name

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> RecordedImaginer:
        inner = None if self._inner is None else self._inner.imaginer(prompt_context, limits)
        prompt_context = prompt_context or PromptContext()
        return RecordedImaginer(
            self._session, inner, StateParts(prompt_context.files_sum, prompt_context.seed)
        )

    def acquire(self, user: object) -> None:
        if self._inner is not None:
            self._inner.acquire(user)

    async def release(self, user: object) -> None:
        if self._inner is not None:
            await self._inner.release(user)


class RecordedImaginer:
    """Implements `Imaginer` for `RecordedModel`."""

    def __init__(self, session: CassetteSession, inner: Imaginer | None, parts: StateParts) -> None:
        self._session = session
        self._inner = inner
        self._parts = parts

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        session, inner = self._session, self._inner
        history = await context.history()
        keyed = session.keys.question(question.key, context, history, self._parts)
        given: ImaginedValue[T] | None = None

        async def ask(inner: Imaginer) -> Mapping[str, Any]:
            nonlocal given
            # What is compared with a recording is not what the world goes on with.
            judged = context if session.records else replace(context, judge=accept_unchecked)
            given = await inner.ask(question, judged)
            return question.dump(given.value)

        answer, replayed = await session.answer(
            keyed, None if inner is None else lambda: ask(inner)
        )
        imagined = ImaginedValue(
            question.load(answer),
            "replayed" if replayed else given.provenance if given else "imagined",
            given.exchanges if given else (),
        )
        if given is None or not session.records:
            try:
                await question.judge(imagined, context)
            except AgentworldError as failure:
                if isinstance(failure, ObservationRejected) and failure.rewritable:
                    # A rule makes it obey, as it did when it was recorded.
                    return imagined
                # What the model was asked is told of a step that fails, too.
                failure.exchanges = failure.exchanges or imagined.exchanges
                raise
        return imagined


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """A computed answer: not recorded, and yet compared by `verify`. A line in the file says what it was."""

    line: str
    """The tool, and digests of the arguments and of what was said and changed."""
    shown: str
    """The call for people."""
    said: str

    @classmethod
    def of(cls, turn: Turn, arguments: Mapping[str, Any]) -> ComputedAnswer:
        """Of a turn, whose arguments are as they are recorded."""
        observation = turn.observation.to_json()
        del observation["provenance"]
        shown = f"{turn.call.name}({canonical_json(arguments)})"
        asked = short_digest(arguments, LETTERS)
        answer = short_digest([observation, _change_json(turn.change)], LETTERS)
        return cls(
            f"{turn.call.name} {asked} {answer}",
            shown if len(shown) <= 120 else f"{shown[:100]} … {shown[-15:]}",
            turn.observation.text,
        )


def _computed_drift(
    recorded: Sequence[str], now: Sequence[ComputedAnswer], clean: Callable[[str], str]
) -> list[str]:
    """What differs. Calls are compared with equal ones, the first with the first: the order in which
    several worlds answered counts for nothing."""
    drift: list[str] = []
    known: dict[str, list[str]] = {}
    for line in recorded:
        call, _, answer = line.rpartition(" ")
        known.setdefault(call, []).append(answer)
    for turn in now:
        call, _, answer = turn.line.rpartition(" ")
        before = known.get(call)
        if not before:
            drift.append(f"computed: {turn.shown} was not called when this was recorded")
        elif before.pop(0) != answer:
            said = clean(turn.said)
            said = said if len(said) <= 500 else f"{said[:400]} …"
            said = _indent(said.split("\n"))
            drift.append(
                f"computed: {turn.shown} is answered otherwise, or changes something else, than when this"
                f" was recorded. Now:\n{said}"
            )
    for call, missing in known.items():
        if missing:
            tool, _, digest = call.rpartition(" ")
            times = "once" if len(missing) == 1 else f"{len(missing)} times"
            drift.append(
                f"computed: {tool!r} ({digest}) was called {times} more when this was recorded"
            )
    return drift


def _change_json(change: StateChange) -> dict[str, Any]:
    files = {
        path: None if entry is None else [entry.kind, entry.mode & 0o700, entry.content]
        for path, entry in change.files.items()
    }
    values = {key: value for key, value in change.values.items() if not key.startswith(BOOKKEEPING)}
    return {"files": files, "values": values}


def _drift(question: KeyedQuestion, found: Entry | None, now: Mapping[str, Any]) -> list[str]:
    asked, lines = question.key.describe(), dump(now).rstrip("\n").split("\n")
    if found is None:
        return [f"{asked} was not recorded. Now:\n{_indent(lines)}"]
    recorded = dump(found.answer).rstrip("\n").split("\n")
    if recorded == lines:
        return []
    diff = difflib.unified_diff(recorded, lines, "recorded", "now", lineterm="", n=2)
    return [f"{asked} is answered otherwise:\n{_indent(diff)}"]


def _indent(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _modified_since(path: Path, began: float) -> bool:
    try:
        return path.stat().st_mtime >= began
    except OSError:
        return False
