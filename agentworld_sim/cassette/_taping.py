"""What is recorded of one test, and what of it is replayed.

Only what cannot be computed is on this tape: answers of the language world model, whole or in the middle
of a pipe, and answers of real tools. What is computed is computed again each time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentworld_sim.errors import UsageError
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation

if TYPE_CHECKING:
    from agentworld_sim.cassette._computed import ComputedTurn
    from agentworld_sim.cassette._entries import Entry
    from agentworld_sim.cassette._tape import Tape
    from agentworld_sim.cassette.file import TapeFile
    from agentworld_sim.ports import WorldImaginer
    from agentworld_sim.world import World

TapeMode = Literal["replay", "once", "live", "verify", "off"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeReport:
    """What became of one cassette in one test."""

    path: Path
    mode: TapeMode
    recorded: int = 0
    """Answers written now."""
    replayed: int = 0
    unused: tuple[str, ...] = ()
    """Recorded answers nobody asked for, each in one line."""
    drift: tuple[str, ...] = ()
    """In `verify`: what differs from what was recorded, each with what was recorded and what came."""


class Taping:
    """The cassette of one test, in use. One may serve several worlds, tasks and threads."""

    def __init__(
        self,
        path: Path,
        mode: TapeMode,
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
        self._mode: TapeMode = mode
        self._shared = shared
        self._with_model = False
        self._used = False
        self._real: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._computed: dict[str, tuple[int, ComputedTurn]] = {}
        self._file = None if mode == "off" else _read(path, began if shared else None, mode)
        self._tape = None if mode == "off" else self._new_tape(secrets, volatile)

    def _new_tape(self, secrets: Sequence[str], volatile: Sequence[str]) -> Tape:
        from agentworld_sim.cassette._asking import Keys
        from agentworld_sim.cassette._tape import Tape, Way

        way: Way = "replay"
        if self._mode == "verify":
            way = "verify"
        elif self._mode == "live" or (self._mode == "once" and self._file is None):
            way = "record"
        return Tape(self._path, way, self._file, Keys(secrets, volatile))

    def model(self, inner: WorldImaginer | None) -> WorldImaginer | None:
        """The model to give to worlds, in place of `inner`.

        Returns:
            One that records or replays; `None` when there is neither a model to ask nor a recording that a
            model made, so that the world computes as it does without a model. `World.create` is then given
            `False`, or it would look for one itself.

        Raises:
            UsageError: `live` or `verify` would ask a model, and there is none.
        """
        if self._tape is None:
            return inner
        from agentworld_sim.cassette._taped_model import TapedModel

        recorded = self._file is not None and self._file.model
        asks = self._tape.records or self._mode == "verify"
        if asks and inner is None and recorded:
            raise UsageError(
                f"the mode {self._mode!r} asks a language world model, as was done for the cassette"
                f" {str(self._path)!r}, and there is none. Name one (AGENTWORLD_MODEL_URL)."
            )
        if self._tape.records:
            self._with_model = self._with_model or inner is not None
            return None if inner is None else TapedModel(self._tape, inner)
        if self._mode == "verify" and inner is not None and (recorded or self._file is None):
            return TapedModel(self._tape, inner)
        return TapedModel(self._tape, None) if recorded else None

    async def real(
        self, call: ToolCall, world: World, run: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """The answer of a real tool that is allowed: recorded, or replayed instead of running it.

        A real call is no turn of a world: equal ones are told apart by their order in the test.

        Args:
            call: The call.
            world: The world beside which the tool stands.
            run: Runs the real tool.

        Raises:
            CassetteMiss: it would have to run and may not in this mode.
        """
        tape = self._tape
        if tape is None:
            return await run()
        depth = len(await world.trajectory())
        equal = canonical_json([call.name, tape.keys.arguments(call)])
        if self._mode == "once" and tape.records:
            observation = await run()
            with self._lock:
                asked = tape.keys.real(call, self._real[equal], depth)
                self._real[equal] += 1
            answer = observation.to_json()
            del answer["provenance"]
            tape.add(asked, "", asked.clean(answer))
            return observation
        with self._lock:
            entry = tape.recorded(tape.keys.real(call, self._real[equal], depth))
            self._real[equal] += 1
        return replace(Observation.from_json(entry.answer), provenance="replayed")

    @property
    def missed(self) -> tuple[str, ...]:
        """The messages of all `CassetteMiss`es so far, also of those that somebody caught, as many agents
        do with what their tools raise."""
        return () if self._tape is None else tuple(self._tape.missed)

    async def watch(self, world: World) -> None:
        """Notes what a world did, and its computed answers for `verify`; called once, at the end of the
        test."""
        tape = self._tape
        if tape is None:
            return
        from agentworld_sim.engines.model_binding import PREFIX

        turns = await world.trajectory()
        # A tool that only a model answers binds to nothing in a replay that knows of no model, also when
        # the agent never called it.
        imagined = any((tool.binds_to or "").startswith(PREFIX) for tool in world.tools.values())
        self._used = self._used or bool(turns) or imagined
        if self._shared:
            # Of a shared world, each process and each selection of tests sees another part.
            return
        from agentworld_sim.cassette._computed import ComputedTurn

        for depth, turn in enumerate(turns):
            if turn.observation.provenance == "computed":
                computed = ComputedTurn.of(turn, tape.keys.arguments(turn.call))
                self._computed[turn.ref] = (depth, computed)

    def finish(self, *, passed: bool) -> TapeReport:
        """Writes what is to be written and says what became of the cassette. Writes nothing for a test
        that failed."""
        tape = self._tape
        if tape is None or not passed:
            replayed = tape.replayed if tape else 0
            return TapeReport(path=self._path, mode=self._mode, replayed=replayed)
        wrote = tape.records and self._write(tape)
        unused = [one for one in tape.known if id(one) not in tape.used]
        if tape.records:
            unused = [one for one in unused if one.key.kind == "real"]
        return TapeReport(
            path=self._path,
            mode=self._mode,
            recorded=len(tape.new) if wrote else 0,
            replayed=tape.replayed,
            unused=tuple(sorted(one.described() for one in unused)),
            drift=tuple(self._drift(tape)) if self._mode == "verify" else (),
        )

    def _drift(self, tape: Tape) -> list[str]:
        from agentworld_sim.cassette._computed import computed_drift

        if self._file is None or self._shared:
            return list(tape.drift)
        return [
            *tape.drift,
            *computed_drift(self._file.computed, self._computed_turns(), tape.keys.text),
        ]

    def _computed_turns(self) -> tuple[ComputedTurn, ...]:
        ranked = sorted(self._computed.values(), key=lambda one: (one[0], one[1].line()))
        return tuple(turn for _, turn in ranked)

    def _write(self, tape: Tape) -> bool:
        """Writes the cassette, if there is anything to write."""
        from agentworld_sim.cassette.file import TapeFile, read_tape, write_tape, writing

        new = list(tape.new)
        used = tape.asked or self._used
        if not (new or self._file or (self._with_model and used)):
            return False
        with writing(self._path) if self._shared else nullcontext():
            there = read_tape(self._path) if self._shared else self._file
            kept = self._kept(there, new)
            content = TapeFile(
                model=self._with_model or (self._shared and there is not None and there.model),
                entries=_ordered(there, new, kept),
                computed=self._computed_turns(),
            )
            text = content.text(all_before=self._shared)
            write_tape(self._path, text)
        return True

    def _kept(self, there: TapeFile | None, new: Sequence[Entry]) -> list[Entry]:
        """What of the file stays beside what was recorded now."""
        if there is None:
            return []
        again = {(one.key.text, one.before or "") for one in new}
        return [
            one
            for one in there.entries
            if (self._shared or one.key.kind == "real")
            and (one.key.text, one.before or "") not in again
        ]


def _read(path: Path, began: float | None, mode: TapeMode) -> TapeFile | None:
    from agentworld_sim.cassette.file import read_tape

    if mode == "once" and began is not None:
        try:
            if path.stat().st_mtime >= began:
                return None
        except OSError:
            pass
    return read_tape(path)


def _ordered(
    there: TapeFile | None, new: Sequence[Entry], kept: Sequence[Entry]
) -> tuple[Entry, ...]:
    from agentworld_sim.cassette._entries import in_order

    return tuple(in_order(there.entries if there else (), new, kept))
