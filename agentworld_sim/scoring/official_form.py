"""AgentWorldBench as its own scripts read it: predictions in replies, what a judge is asked, ratings in its replies.

Results equal those of `eval/` in the released repository (QwenLM/Qwen-AgentWorld at cd0aa83), its mistakes included:
only so figures compare with published ones. The readings of this library, which depart from it where that is better,
are `imagination.parsing` and `read_judgement`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.parsing import ANSWER_TAG, MARKER
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.scoring.bench_rows import BenchRow
from agentworld_sim.scoring.judge import DIMENSIONS, VERDICT_TAG, Judge
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.tools import DomainName

TEMPLATE = ("eval/lwm_eval_utils/task_configs.py", "JUDGE_USER_PROMPT")
"""Where the repository keeps the judge's question: a file beside the folder of prompts, and a name in it."""

_THINK = re.compile(r"<(/?)think>", re.IGNORECASE)
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def prediction_of(reply: str) -> str:
    """The observation in a model's reply."""
    said = _without_thinking(reply, ANSWER_TAG)
    found = _last_tagged(said, ANSWER_TAG)
    return (said.strip() or "No output") if found is None else found


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """What a judge is asked."""

    version: str
    """Of their texts; results under other ones are not comparable."""
    messages: Callable[[BenchRow, str], tuple[ChatMessage, ...]]
    """The question about a row and the text of its predicted observation."""

    @classmethod
    def load(cls, folder: Path | None, settings: ModelSettings) -> JudgePrompts:
        """The prompts of a checkout of the released repository, or those of this library.

        Args:
            folder: Its folder `prompts`; `None` for our own.

        Raises:
            UsageError: something is missing there.
        """
        if folder is None:
            own = Judge(settings)
            version = own.request(_PROBE.sample, "").messages
            return cls(
                "own " + hash_ref("prompts", [one.content for one in version])[:8],
                lambda row, prediction: own.request(row.sample, prediction).messages,
            )
        question = _literal(folder.absolute().parent / TEMPLATE[0], TEMPLATE[1])
        systems: dict[DomainName, str] = {}
        for name in get_args(DomainName):
            path = folder / name / "judge_system_prompt.txt"
            if not path.is_file():
                raise UsageError(f"{str(path)!r} does not exist. {_CHECKOUT}")
            systems[name] = path.read_text("utf-8")

        def messages(row: BenchRow, prediction: str) -> tuple[ChatMessage, ...]:
            user = question.format(**_parts(row, prediction)).strip()
            return ChatMessage("system", systems[row.domain]), ChatMessage("user", user)

        return cls("official " + hash_ref("prompts", [question, systems])[:8], messages)


_CHECKOUT = "--official-prompts takes the folder `prompts` of a checkout of github.com/QwenLM/Qwen-AgentWorld."


def _literal(path: Path, name: str) -> str:
    """A text that a Python file assigns to a name; nothing of the file is run."""
    try:
        body = ast.parse(path.read_text("utf-8")).body
    except (OSError, SyntaxError) as error:
        raise UsageError(f"the judge's question cannot be read: {error}. {_CHECKOUT}") from None
    for one in body:
        if isinstance(one, ast.Assign) and [ast.unparse(to) for to in one.targets] == [name]:
            return str(ast.literal_eval(one.value))
    raise UsageError(f"{str(path)!r} has no {name}. {_CHECKOUT}")


def _parts(row: BenchRow, prediction: str) -> dict[str, str]:
    before = zip(row.actions[: row.turn - 1], row.observations, strict=False)
    context = "".join(f"{action}\n{observation}\n\n" for action, observation in before)
    truth = row.observations[row.turn - 1] or ""
    return {
        "context": f"# Context (Historical Interactions):\n\n{context}" if context else "",
        "world_model_input": f"# Current Turn:\n\n{row.current}",
        "predicted_observation": f"**World Model Output (Simulated):**\n{_fence(prediction)}",
        "ground_truth": f"**Ground Truth (Real Output):**\n{_fence(truth)}",
    }


def _fence(text: str) -> str:
    # A marker in front alone goes where one stands there; else all of them.
    bare = text.removeprefix(MARKER) if text.startswith(MARKER) else text.replace(MARKER, "")
    return f"```\n{bare.strip()}\n```"


_PROBE = BenchRow.from_json(
    {"prompt": [""], "response": [""], "system_str": "", "turn_idx": 1}, place="", domain="mcp"
)


@dataclass(frozen=True, slots=True)
class Ratings:
    """What a judge gave."""

    scores: Mapping[str, int]
    """Each dimension's from 1 to 5; 0 or less where there is none, which no mean counts."""
    clamped: bool = False
    """Whether one was above 5."""

    @property
    def total(self) -> float:
        """The mean of the dimensions that have one; 0 without any."""
        given = [one for one in self.scores.values() if one > 0]
        return sum(given) / len(given) if given else 0


def read_ratings(reply: str) -> Ratings | str:
    """The ratings in a judge's reply, or why there are none."""
    said = _without_thinking(reply.strip(), VERDICT_TAG)
    text = _last_tagged(said, VERDICT_TAG) or said
    found = _fenced_object(text) or _last_object(text)
    if not found:
        return "there is no JSON object"
    found = re.sub(r",(\s*[}\]])", r"\1", found)
    found = re.sub(r"'(\w+)'(\s*:)", r'"\1"\2', found)
    found = re.sub(r"([{,])\s*(\w+)\s*:", r'\1"\2":', found)
    try:
        try:
            value = json.loads(found)
        except json.JSONDecodeError:
            scores = re.search(r'"scores"\s*:\s*\{[^}]+\}', found)
            value = json.loads(f"{{{scores[0]}}}" if scores else found)
        return _ratings(value)
    except (ValueError, OverflowError, RecursionError) as error:
        return f"not readable: {error}"


def _ratings(value: Mapping[str, Any]) -> Ratings | str:
    given = value.get("scores")
    if not isinstance(given, dict):
        return "there is no object 'scores'"
    scores = {
        name: _whole_number(cast("dict[str, Any]", given).get(name, 0)) for name in DIMENSIONS
    }
    clamped = {name: min(5, one) for name, one in scores.items()}
    return Ratings(clamped, clamped != scores)


def _whole_number(value: Any) -> int:
    if isinstance(value, str):
        try:
            return int(value.partition("/")[0].strip())
        except ValueError:
            return 0
    return round(value) if isinstance(value, int | float) else 0


def _without_thinking(text: str, tag: str) -> str:
    """A text without its thinking: also what comes before a closing tag that nothing opened, and what comes after an
    opening one up to the answer."""
    opened: deque[int] = deque()
    spans: list[tuple[int, int]] = []
    for mark in _THINK.finditer(text):
        if not mark[1]:
            opened.append(mark.start())
        else:
            spans.append((opened.popleft() if opened else 0, mark.end()))
    for start in opened:
        answer = re.compile(f"<{tag}>", re.IGNORECASE).search(text, start)
        spans.append((start, answer.start() if answer else len(text)))
    if not spans:
        return text
    kept, at = "", 0
    for start, end in sorted(spans):
        kept += text[at:start]
        at = max(at, end)
    return (kept + text[at:]).strip()


def _last_tagged(text: str, tag: str) -> str | None:
    """What the last opened tag holds, to the end where it is not closed."""
    opened = list(re.finditer(f"<{tag}>", text, re.IGNORECASE))
    if not opened:
        return None
    rest = text[opened[-1].end() :]
    return re.split(f"</{tag}>", rest, maxsplit=1, flags=re.IGNORECASE)[0].strip()


def _fenced_object(text: str) -> str | None:
    blocks = [one.strip() for one in _FENCED.findall(text)]
    return _with_scores([one for one in blocks if one.startswith("{") and one.endswith("}")])


def _last_object(text: str) -> str | None:
    return _with_scores(list(_objects(text))) or _object_at_end(text)


def _with_scores(found: list[str]) -> str | None:
    return next((one for one in reversed(found) if '"scores"' in one), found[-1] if found else None)


def _objects(text: str) -> Iterator[str]:
    """What stands in braces that pair up, quotes respected, none inside another."""
    start = text.find("{")
    while start >= 0:
        depth = 0
        for token in re.finditer(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}]', text[start:], re.DOTALL):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if not depth:
                yield text[start : start + token.end()]
                start += token.end() - 1
                break
        start = text.find("{", start + 1)


def _object_at_end(text: str) -> str | None:
    """What stands before the last closing brace, back to where it was opened."""
    end = text.rfind("}")
    depth, quoted = 0, False
    for at in range(end, -1, -1):
        one = text[at]
        if one == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += {"}": 1, "{": -1}.get(one, 0)
            if not depth and one == "{":
                return text[at : end + 1]
    return None
