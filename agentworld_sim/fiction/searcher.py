"""The scripted searcher: it knows what is asked and reads every fact from what the tools print, so that a question
that it answers can be answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from agentworld_sim.fiction.answer_scores import markdown_table, score_answer
from agentworld_sim.fiction.fiction_questions import FictionQuestion
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.query_plan import Aggregate, FieldPath, QueryPlan, columns_on
from agentworld_sim.fiction.question_text import headers


class _Link(NamedTuple):
    """A text, and the address that it leads to; empty where it leads nowhere."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class _ReadPage:
    """What a page says, by heading; `""` is what stands above the first."""

    tables: Mapping[str, Sequence[Sequence[_Link]]]
    """Lines of cells, the head first."""
    lists: Mapping[str, Sequence[_Link]]
    """Of lines that begin with a star."""
    links: Mapping[str, Sequence[_Link]]
    """Of all other lines."""


_LINK_MARK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")


@lru_cache(maxsize=4096)
def _read_page(text: str) -> _ReadPage:
    tables: dict[str, list[list[_Link]]] = {}
    lists: dict[str, list[_Link]] = {}
    links: dict[str, list[_Link]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and set(line) - set("| -:"):
            cells = line[1:-1].split("|")
            tables.setdefault(heading, []).append([_link_of(cell.strip()) for cell in cells])
        else:
            found = [_Link(*one) for one in _LINK_MARK.findall(line)]
            (lists if line.startswith("* ") else links).setdefault(heading, []).extend(found)
    return _ReadPage(tables, lists, links)


def _link_of(cell: str) -> _Link:
    found = _LINK_MARK.fullmatch(cell)
    return _Link(found[1], found[2]) if found else _Link(cell, "")


class _NotFoundError(Exception):
    """No page says what was looked for."""


def solves(
    schema: FictionSchema,
    question: FictionQuestion,
    web_search: Callable[[Sequence[str]], str],
    web_extractor: Callable[[str], str],
) -> bool:
    """Whether the tools lead to the right answer of a question."""
    answer = Searcher(schema, web_search, web_extractor).answer(question.plan)
    return score_answer(question.gold, answer).success


@dataclass
class Searcher:
    """Answers questions about the worlds of one schema."""

    schema: FictionSchema
    web_search: Callable[[Sequence[str]], str]
    """Prints the results of queries."""
    web_extractor: Callable[[str], str]
    """Prints the page at a URL."""
    opened: set[str] = field(default_factory=set[str])
    """The pages that the last answer was read from."""

    def answer(self, plan: QueryPlan) -> str:
        """A Markdown table; an empty text where a fact is not to be found."""
        self.opened = set()
        try:
            return markdown_table(headers(self.schema, plan), self._rows(plan))
        except _NotFoundError:
            return ""

    def _rows(self, plan: QueryPlan) -> list[tuple[Any, ...]]:
        kept = self._things(self.schema.table(plan.table))
        for one in plan.filters:
            kept = [
                thing for thing in kept if one.passes(self._value(plan.table, thing, one.field))
            ]
        if plan.rank:
            values = [self._value(plan.table, thing, plan.rank.by) for thing in kept]
            if not values or None in values:
                raise _NotFoundError
            first = max(values) if plan.rank.highest else min(values)
            kept = [thing for thing, value in zip(kept, values, strict=True) if value == first]
        return [
            (thing.text, *(self._value(plan.table, thing, what) for what in plan.values))
            for thing in kept
        ]

    def _open(self, url: str) -> _ReadPage:
        self.opened.add(url)
        return _read_page(self.web_extractor(url))

    def _things(self, table: Table) -> list[_Link]:
        """All things of a table: a list of them that a search finds, with its other parts."""
        title = f"List of {table.noun[1]} by"
        results = self.web_search([f'"{title}"'])
        found = re.search(rf"(?m)^\[\d+\] (\S+)\nTitle: {re.escape(title)} ", results)
        if not found:
            raise _NotFoundError
        first = self._open(found[1])
        more = [
            self._open(one.url) for one in first.links.get("", ()) if one.text.startswith("Part ")
        ]
        return [line[0] for page in (first, *more) for line in page.tables.get("", ())[1:]]

    def _in_box(self, url: str, column: Column) -> _Link | None:
        """The value of a column in the box of an article; None where the article leaves it out."""
        box = self._open(url).tables.get("", ())
        return next((value for label, value in box if label.text == column.label), None)

    def _value(self, table: str, thing: _Link, what: FieldPath | Aggregate) -> Any:
        """What the pages say; None where they leave it out."""
        if isinstance(what, Aggregate):
            return self._aggregate(thing, what)
        for column in columns_on(self.schema, table, what.steps):
            there = self._in_box(thing.url, column)
            if there is None:
                return None
            thing, table = there, column.references
        if self.schema.table(table).title == what.column:
            return thing.text
        column = self.schema.table(table).column(what.column)
        said = self._in_box(thing.url, column)
        return _read_value(column, said.text) if said else None

    def _aggregate(self, thing: _Link, what: Aggregate) -> Any:
        there = self.schema.table(what.table)
        via = there.column(what.via)
        lines = list(self._lines(thing.url, there, via))
        if what.function == "count":
            return len(lines)
        column = there.column(what.column)
        values = [
            value
            for line in lines
            if (value := self._of_line(line, thing, there, via, column)) is not None
        ]
        return {"max": max, "min": min}[what.function](values) if values else None

    def _lines(self, url: str, there: Table, via: Column) -> Iterator[Mapping[str, _Link]]:
        """The rows that refer to a thing, as its article and the pages that go on from there list them: by label,
        or under the empty label where each has an article."""
        heading = f"{there.noun[1][:1].upper()}{there.noun[1][1:]} - {via.label}"
        article = self._open(url)
        more = [
            self._open(one.url)
            for one in article.links.get(heading, ())
            if one.url.startswith(f"{url}/")
        ]
        for page, under in ((article, heading), *((one, "") for one in more)):
            for line in page.lists.get(under, ()) if there.title else ():
                yield {"": line}
            table = page.tables.get(under, ())
            for line in table[1:] if not there.title else ():
                yield {head.text: cell for head, cell in zip(table[0], line, strict=True)}

    def _of_line(
        self, line: Mapping[str, _Link], thing: _Link, there: Table, via: Column, column: Column
    ) -> Any:
        """What a row that refers to a thing has in a column: in its article, on its line, or on the same row's line
        in the article of what it refers to first."""
        if there.title:
            return self._value(there.name, line[""], FieldPath((), column.name))
        if column.label not in line:
            first = next(one for one in there.columns if one.references)
            others = self._lines(line[first.label].url, there, first)
            same = (
                one
                for one in others
                if one[via.label].url == thing.url
                and all(one[label] == cell for label, cell in line.items() if label in one)
            )
            found = next(same, None)
            if found is None:
                # Pages that say one fact in two ways.
                raise _NotFoundError
            line = found
        return _read_value(column, line[column.label].text)


def _read_value(column: Column, said: str) -> Any:
    """A value from its text on a page; None where there is none."""
    if said == "-":
        return None
    if column.unit:
        said = said.removesuffix(column.unit).strip()
    match column.type:
        case "integer":
            return int(said.replace(",", ""))
        case "number":
            return float(said.replace(",", ""))
        case "boolean":
            return int(said == "yes")
        case "date":
            return datetime.strptime(said, "%B %d, %Y").date().isoformat()
        case "text":
            return said
