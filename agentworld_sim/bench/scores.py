"""How right a predicted answer is, without a judge: its text, its form, and what it does to the state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agentworld_sim.bench.rules import rules_of
from agentworld_sim.bench.transitions import Changes, Tables, Transition, apply, parse_json

_LETTERS = re.compile(r"[a-z]+")
_CAPITALS = re.compile(r"[A-Z]+")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://[^/?#\s]+(?P<path>\S*)")
_EMAIL = re.compile(r"[^\s@/]+@[\w-]+(\.[\w-]+)+")
_AMOUNT = re.compile(
    r"(?P<before>-?[$€£¥]?|-?[A-Z]{3} )"
    r"(?P<number>\d{1,3}(,\d{3})+|\d+)(?P<decimals>\.\d+)?(?P<unit> ?[A-Za-z%€]{1,5})?"
)
_TIME = re.compile(r"[\d:./+-]+( [\d:./+-]+)*( [AP]M)?")
_DRAWN = {
    "uuid": re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE),
    "hash": re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,}|(?=.*\d)(?=.*[A-F])[0-9A-F]{16,}"),
    "code": re.compile(r"(?=.*\d)(?=.*[A-Z])[A-Z\d]{5,12}"),
}
"""In what letters and digits follow each other by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What is right of one prediction. What the environment drew at random is right in its form, if it is the same
    in answer and state."""

    text: bool
    """The answer is the environment's to the letter."""
    value: bool
    """It says the same: equal as JSON where it is JSON."""
    form: bool
    """It has the same fields with values of the same kinds, down to how texts such as URLs and dates are written."""
    state: bool
    """The state afterwards is the environment's. Where nobody knows that, what `value` is."""
    changed: int
    """Fields that the environment changed."""
    state_known: bool = True
    contradicts: bool = False
    """The answer shows a record otherwise than its own state holds it: an id does not keep its fields."""
    rules: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Of the rules that can be asked of this call, whether the answer keeps them; see `rules_of`."""

    @property
    def silent(self) -> bool:
        """Whether one of answer and state is right and the other is not: nobody would notice."""
        return self.value != self.state

    @property
    def right(self) -> bool:
        """Whether both are right."""
        return self.value and self.state


def score(
    transition: Transition,
    text: str,
    is_error: bool,
    changes: Changes,
    matcher: ChanceMatcher | None = None,
) -> Score:
    """Compares a prediction with what the environment did.

    Args:
        transition: What was asked about.
        text: The predicted answer.
        is_error: Whether the tool was predicted to fail.
        changes: What was predicted to change, as tables.
        matcher: Of a session that goes on with what was predicted: it knows what was drawn so far.
    """
    truth = transition.truth
    matcher = matcher or ChanceMatcher(truth.by_chance)
    said = truth.observation
    same_end = said.is_error == is_error
    given = parse_json(text)
    value = same_end and matcher.same(parse_json(said.text), given)
    after = after_changes(transition.before, truth.changes)
    predicted = after_changes(transition.before, changes)
    touched = {*truth.changes, *changes}
    state = matcher.same_tables(
        {name: after.get(name, {}) for name in touched},
        {name: predicted.get(name, {}) for name in touched},
    )
    return Score(
        text=same_end and matcher.fill(said.text).rstrip("\n") == text.rstrip("\n"),
        value=value,
        form=same_end and form_of(parse_json(said.text)) == form_of(given),
        state=state if transition.session.has_state else value,
        changed=transition.fields_changed,
        state_known=transition.session.has_state,
        contradicts=contradicts(given, predicted, transition.session.keys),
        rules=rules_of(transition, text, is_error),
    )


def contradicts(value: Any, tables: Tables, keys: Mapping[str, str]) -> bool:
    """Whether an object with the id of a record has other values than the record.

    Args:
        value: An answer, as JSON.
        tables: The state.
        keys: Table to the field that names its records.
    """
    if isinstance(value, list):
        return any(contradicts(one, tables, keys) for one in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    nested = {name for name, one in fields.items() if isinstance(one, dict | list)}
    alike: list[tuple[int, bool]] = []
    for table, key in keys.items():
        record = tables.get(table, {}).get(str(fields.get(key)))
        if record is not None:
            shared = fields.keys() & record.keys() - nested
            alike.append((len(shared), any(fields[name] != record[name] for name in shared)))
    # An object may name records of several tables; it is the one that it has most in common with.
    return max(alike, default=(0, False))[1] or any(
        contradicts(one, tables, keys) for one in fields.values()
    )


class ChanceMatcher:
    """Compares values, some of whose scalars the environment drew at random."""

    def __init__(self, by_chance: frozenset[str]) -> None:
        self._by_chance = by_chance
        self._drawn: dict[str, Any] = {}
        """What stands in the prediction for each of them."""

    def same(self, truth: Any, given: Any) -> bool:
        """Whether two JSON values are equal, chance aside."""
        if isinstance(truth, dict) and isinstance(given, dict):
            return self._same_mapping(cast("dict[str, Any]", truth), cast("dict[str, Any]", given))
        if isinstance(truth, list) and isinstance(given, list):
            left, right = cast("list[Any]", truth), cast("list[Any]", given)
            return len(left) == len(right) and all(map(self.same, left, right))
        if isinstance(truth, dict | list | bool) or isinstance(given, dict | list | bool):
            return truth is given
        name = str(truth)
        if name not in self._by_chance:
            return (type(truth) is type(given) and truth == given) or _equal_numbers(truth, given)
        if form_of(truth) != form_of(given):
            return False
        return str(self._drawn.setdefault(name, given)) == str(given)

    def same_tables(self, truth: Tables, given: Tables) -> bool:
        """Whether two states are equal, chance aside."""
        return all(
            self._same_mapping(dict(truth[name]), dict(given.get(name, {}))) for name in truth
        )

    def fill(self, text: str) -> str:
        """The environment's text with what was predicted in place of what it drew."""
        for drawn, given in self._drawn.items():
            text = text.replace(drawn, str(given))
        return text

    def with_drawn(self, value: Any) -> Any:
        """A JSON value of the environment with what was predicted in place of what it drew."""
        if isinstance(value, Mapping):
            fields = cast("Mapping[str, Any]", value)
            return {name: self.with_drawn(one) for name, one in fields.items()}
        if isinstance(value, list):
            return [self.with_drawn(one) for one in cast("list[Any]", value)]
        return self._drawn.get(str(value), value)

    def _same_mapping(self, truth: dict[str, Any], given: dict[str, Any]) -> bool:
        if len(truth) != len(given):
            return False
        left = {key: value for key, value in truth.items() if key not in self._by_chance}
        if any(key not in given or not self.same(value, given[key]) for key, value in left.items()):
            return False
        drawn = [(key, value) for key, value in truth.items() if key in self._by_chance]
        others = [(key, value) for key, value in given.items() if key not in left]
        return all(
            self.same(key, other) and self.same(value, held)
            for (key, value), (other, held) in zip(drawn, others, strict=True)
        )


def after_changes(before: Tables, changes: Changes) -> Mapping[str, Mapping[str, Any]]:
    """The tables that changes touch, afterwards."""
    after = {table: dict(before.get(table, {})) for table in changes}
    apply(after, changes)
    return {**before, **after}


def form_of(value: Any) -> Any:
    """The kinds of all values, and how texts are written that are more than words: `aA9` for letters, capitals, digits.

    Of an amount, its unit and decimals count; of a hash or code, its length; of a URL, its scheme and path.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: form_of(one) for key, one in sorted(fields.items())}
    if isinstance(value, list):
        return [form_of(one) for one in cast("list[Any]", value)][:1]
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else _form_of_text(str(value))


def _form_of_text(text: str) -> str:
    if found := _URL.fullmatch(text):
        parts = re.sub("[^/?&=#]+", lambda part: _form_of_text(part[0]), found["path"])
        return f"{found['scheme']}://host{parts}"
    for name, pattern in _DRAWN.items():
        if pattern.fullmatch(text):
            return f"{name} of {len(text)}"
    if _EMAIL.fullmatch(text):
        return "email"
    if (found := _AMOUNT.fullmatch(text)) and found["number"] != text:
        # How much it is does not belong to how it is written; how exact it is does.
        decimals = re.sub(r"\d", "9", found["decimals"] or "")
        return _mask(f"{found['before']}9{decimals}{found['unit'] or ''}")
    words = " " in text and not _TIME.fullmatch(text)
    if words or not any(one.isdigit() or one in "/:@" for one in text):
        return "text"
    return _mask(text)


def _mask(text: str) -> str:
    # A number's length belongs to how an id is written, a word's length does not.
    return _CAPITALS.sub("A", _LETTERS.sub("a", re.sub(r"\d", "9", text)))


def _equal_numbers(truth: Any, given: Any) -> bool:
    return isinstance(truth, int | float) and isinstance(given, int | float) and truth == given
