"""From a question in a world to the key under which its answer is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.cassette._entries import Key, Place, short_digest
from agentworld_sim.cassette._matching import without_volatile
from agentworld_sim.cassette._states import StateParts
from agentworld_sim.ports import TurnContext
from agentworld_sim.redaction.environment import secrets_of
from agentworld_sim.redaction.records import Redaction
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Turn

if TYPE_CHECKING:
    from agentworld_sim.engines.shell import CommandAnswer, CommandQuestion

LONGEST_STDIN = 1_000
"""A longer input stands in the file as its digest."""

NOTHING = "nothing"
"""In place of the digest of what was imagined earlier."""

_OF_EVERY_SHELL = frozenset(
    "BASHOPTS EPOCHREALTIME EPOCHSECONDS EUID HOSTTYPE MACHTYPE OLDPWD OPTIND OSTYPE PPID PS4 PWD"
    " SHELLOPTS SHLVL _".split()
)
"""Variables that tell nothing of the world, or tell it twice."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question."""

    key: Key
    before: Callable[[], str]
    """Gives the digest of what was imagined earlier."""
    place: Place
    clean: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Takes secrets out of an answer."""
    turn_seed: int = 0
    refused: int = 0
    """How many answers to it checks refused."""
    last: bool = False
    """It will not be asked again."""


class Keys:
    """Makes keys: without secrets and without what differs each time."""

    def __init__(self, secrets: Sequence[str], volatile: Sequence[str]) -> None:
        self._secrets = tuple(secrets)
        self._volatile = tuple(volatile)
        self._known: dict[tuple[str, str], Mapping[str, Any]] = {}

    def tool(
        self, call: ToolCall, context: TurnContext, history: Sequence[Turn], parts: StateParts
    ) -> Asked:
        """A call whose whole answer is imagined."""
        about = self.arguments(call)
        equal = self._equal_calls(call, about, history)
        return Asked(
            Key("tool", call.name, about, equal, parts.of(context.state)),
            partial(self._before, history, context, ()),
            (len(history), 0),
            partial(self._clean, Redaction(self._secrets), call.arguments),
            turn_seed=context.seed,
            refused=len(context.refused),
        )

    def command(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        context: TurnContext,
        history: Sequence[Turn],
        parts: StateParts,
    ) -> Asked:
        """A command in the middle of a turn."""
        redaction = Redaction((*self._secrets, *secrets_of(question.env)))
        argv = _words(redaction, question.argv)
        about: dict[str, Any] = {"argv": argv, "cwd": question.cwd}
        if question.stdin is not None:
            stdin = redaction.text(question.stdin)
            if len(stdin) > LONGEST_STDIN:
                stdin = f"({len(stdin)} characters, {short_digest(stdin)})"
            about["stdin"] = stdin
        state = parts.of(context.state, question.files_sum)
        state["env"] = short_digest(
            [
                question.user,
                question.hostname,
                redaction.value(
                    {
                        name: value
                        for name, value in question.env.items()
                        if name not in _OF_EVERY_SHELL
                    }
                ),
            ]
        )
        past = [inner.argv for turn in history for inner in turn.inner]
        equal = sum(
            _words(redaction, words) == argv
            for words in (*past, *(one.argv for one, _ in earlier))
            if words[:1] == question.argv[:1] and len(words) == len(argv)
        )
        return Asked(
            Key("command", argv[0], about, equal, state),
            partial(self._before, history, context, tuple(one.argv for one, _ in earlier)),
            (len(history), 1 + len(earlier)),
            partial(self._clean, redaction, {}),
        )

    def real(self, call: ToolCall, occurrence: int, depth: int) -> Asked:
        """A call that a real tool answers, beside the world."""
        return Asked(
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

    def _equal_calls(
        self, call: ToolCall, about: Mapping[str, Any], history: Sequence[Turn]
    ) -> int:
        # Dictionaries take 1, 1.0 and true for one value: a mistake that every mode makes alike.
        return sum(
            turn.call.name == call.name and self.arguments(turn.call) == about for turn in history
        )

    def _before(
        self,
        history: Sequence[Turn],
        context: TurnContext,
        earlier: Sequence[tuple[str, ...]],
    ) -> str:
        """What a model said before that may have changed what no state tells."""
        from agentworld_sim.engines.shell.read_only_commands import only_looks

        redaction = Redaction(self._secrets)
        known: list[object] = []

        def add(commands: Iterable[tuple[str, ...]]) -> None:
            known.extend(_words(redaction, argv) for argv in commands if not only_looks(argv))

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


def _words(redaction: Redaction, argv: Sequence[str]) -> list[str]:
    """The words of a command without secrets: also without what stands behind `--password`."""
    words: list[str] = []
    for number, word in enumerate(argv):
        option = argv[number - 1] if number else ""
        if option.startswith("-") and "=" not in option and not word.startswith("-"):
            name = option.lstrip("-")
            word = cast("dict[str, str]", redaction.value({name: word}))[name]
        words.append(redaction.text(word))
    return words
