"""Where an output schema has room for records, counts and cursors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from agentworld_sim.engines.table.json_schemas import (
    enum_of,
    is_object,
    is_records,
    item_of,
    kind_of,
    properties,
    required_properties,
)
from agentworld_sim.engines.table.operation import Output
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.words import plural, singulars, snake

TOTALS = frozenset("total total_count total_results total_items total_records total_hits".split())
COUNTS = frozenset(
    "requested_count retrieved_count count returned result_count results_count num_results length".split()
)
FAILURES = frozenset("failed missing skipped".split())
CURSORS = frozenset(
    "next_cursor next_page_token next_token next_page_cursor next end_cursor cursor".split()
)
MORES = frozenset("has_more has_next_page has_next more is_truncated truncated".split())
SUCCESSES = frozenset(
    "success ok succeeded deleted removed updated created done acknowledged cancelled".split()
)
MESSAGES = frozenset("message msg detail".split())
ERRORS = frozenset("error errors warnings".split())
WRAPPERS = frozenset("data result results item items record records object value values".split())
META = TOTALS | COUNTS | CURSORS | MORES | SUCCESSES | MESSAGES | ERRORS


@dataclass(slots=True)
class OutputReading:
    """What a tool's output schema says."""

    output: Output = field(default_factory=Output)
    record: dict[str, Any] | None = None
    """The shape of one record in it."""
    lists: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Path to the shape of the items, of every list of records."""
    problem: str | None = None


def read_output_schema(read: Reading) -> OutputReading:
    """What the output schema of a tool says."""
    if read.output is None:
        return OutputReading()
    answers = OutputReading(output=Output(schema=read.tool.output_schema))
    if read.does == "count":
        return _read_count(read, read.output)
    found = dict(_lists(read.output))
    answers.lists = {path: item_of(one) for path, one in found.items() if is_records(one)}
    if read.does in ("list", "search"):
        return _read_list(read, answers, found)
    return _read_single(read, answers, found)


def _read_count(read: Reading, schema: dict[str, Any]) -> OutputReading:
    numbers = [name for name, one in properties(schema).items() if kind_of(one) == "integer"]
    named = [name for name in numbers if snake(name) in TOTALS | COUNTS] or numbers
    if len(named) != 1:
        return OutputReading(problem="its output schema does not say where the number goes")
    path = named[0]
    return _read_siblings(
        read, OutputReading(output=Output(total=path, schema=read.tool.output_schema)), path
    )


def _lists(schema: dict[str, Any], path: str = "", depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Every list of objects or plain values outside other lists, by its path."""
    if kind_of(schema) == "array":
        yield path, schema
    elif depth:
        for name, one in properties(schema).items():
            if "." not in name:
                yield from _lists(one, f"{path}.{name}" if path else name, depth - 1)


def _read_list(read: Reading, answers: OutputReading, found: dict[str, Any]) -> OutputReading:
    noun = read.stated_noun or read.noun
    names = {plural(noun[-1]), noun[-1], "_".join((*noun[:-1], plural(noun[-1])))}
    several = [path for path in found if snake(path.rpartition(".")[2]) in names]
    wrapped = [path for path in found if path == "" or snake(path.rpartition(".")[2]) in WRAPPERS]
    nodes = [path for path in found if path.rpartition(".")[2] in ("nodes", "edges", "entries")]
    for paths in (several, wrapped, nodes, list(found)):
        if len(paths) == 1:
            path = paths[0]
            break
    else:
        answers.problem = f"its output schema has no list, or several: {', '.join(found)}"
        return answers
    item = item_of(found[path])
    values = ""
    if is_records(found[path]):
        answers.record = item
    elif kind_of(item) not in ("object", ""):
        values = "?"
    schema = read.tool.output_schema
    answers.output = Output(records=path, values=values, schema=schema)
    return _read_siblings(read, answers, path)


def _read_single(read: Reading, answers: OutputReading, found: dict[str, Any]) -> OutputReading:
    schema = read.output or {}
    own = read.stated_noun or read.noun
    noun = {"_".join(own), own[-1], *WRAPPERS}
    path, record = _unwrap(schema, noun)
    if path:
        answers.output = Output(record=path, schema=read.tool.output_schema)
        answers.record = record
        return _read_siblings(read, answers, path)
    if len(answers.lists) > 1 and len(answers.lists) == len(properties(schema)):
        return _read_list(read, answers, found)
    names = [snake(name) for name in properties(schema)]
    if len(found) == 1 and all(
        name in META or name in noun or _plural(name, read) for name in names
    ):
        path = next(iter(found))
        answers.output = Output(records=path, record=path, schema=read.tool.output_schema)
        answers.record = item_of(found[path]) if is_records(found[path]) else None
        return _read_siblings(read, answers, path)
    answers.output = Output(schema=read.tool.output_schema)
    answers = _read_siblings(read, answers, "")
    if read.does == "delete" or kind_of(schema) != "object" or not properties(schema):
        return answers
    told = {name for name in properties(schema) if snake(name) in SUCCESSES | MESSAGES | ERRORS}
    if read.does == "read":
        told = {name for name in told if snake(name) in ("success", "ok", "error")}
    answers.record = {
        **schema,
        "properties": {name: one for name, one in properties(schema).items() if name not in told},
        "required": [name for name in required_properties(schema) if name not in told],
    }
    return answers


def _unwrap(schema: dict[str, Any], noun: set[str]) -> tuple[str, dict[str, Any]]:
    """The path of the record inside objects that only hold it, and its shape."""
    path = ""
    for _ in range(3):
        inner = [
            name
            for name, one in properties(schema).items()
            if is_object(one) and snake(name) in noun and "." not in name
        ]
        beside = set(properties(schema)) - set(inner)
        if len(inner) != 1 or not all(snake(name) in META for name in beside):
            break
        schema = properties(schema)[inner[0]]
        path = f"{path}.{inner[0]}" if path else inner[0]
    return path, schema


def _plural(name: str, read: Reading) -> bool:
    return singulars(name)[-1:] == (read.stated_noun or read.noun)[-1:]


def _read_siblings(read: Reading, answers: OutputReading, path: str) -> OutputReading:
    """Reads what stands beside the payload, level by level."""
    level, prefix = read.output or {}, ""
    found: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    echoed: dict[str, str] = {}
    needs: list[str] = []
    listing = read.does in ("list", "search") or bool(answers.output.records)
    for part in path.split("."):
        for name, one in properties(level).items():
            word, here, kind = snake(name), prefix + name, kind_of(one)
            argument = read.argument_named(word) if path else None
            if name == part:
                continue
            if word in SUCCESSES | {"result"} and kind == "boolean":
                if path or read.does != "read":
                    fixed[here] = True
            elif listing and (place := _list_place(word, kind)) is not None:
                found.setdefault(place, here)
            elif listing and kind == "array" and word.partition("_")[0] in FAILURES:
                # What is not there is an error of the whole call.
                fixed[here] = []
            elif word in MESSAGES and kind == "string" and (path or read.does != "read"):
                found.setdefault("message", here)
            elif name in required_properties(level):
                if argument is not None:
                    echoed[here] = argument
                elif (value := _success(one)) is not None:
                    fixed[here] = value
                else:
                    needs.append(here)
        level = properties(level).get(part, {})
        prefix += f"{part}."
    kept = answers.output
    total = kept.total if kept.total is not None else found.pop("total", None)
    answers.output = replace(kept, **{**found, "total": total}, fixed=fixed, arguments=echoed)
    if path and needs:
        answers.problem = f"its output needs {needs[0]!r}, and nothing says what that is"
    return answers


def _list_place(word: str, kind: str) -> str | None:
    """Which part of `Output` a property beside a list is."""
    if kind in ("integer", "number") and word in TOTALS | COUNTS:
        return "total" if word in TOTALS else "count"
    if kind == "boolean" and word in MORES:
        return "more"
    return "cursor" if _is_cursor(word, kind) else None


def _is_cursor(word: str, kind: str) -> bool:
    """Whether a property fetches the next page; a text named like a number is made for nothing else."""
    if word in CURSORS:
        return kind in ("string", "")
    return word in ("offset", "after", "page") and kind == "string"


def _success(schema: dict[str, Any]) -> Any:
    """The value of an enumeration that says that all went well."""
    return next((one for one in enum_of(schema) if one in ("success", "ok", "deleted", True)), None)
