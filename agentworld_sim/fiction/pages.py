"""The pages of a fictional world: an encyclopaedia, news, official sites, a forum and lists that say the same, each
with the facts that stand on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from importlib import resources
from itertools import islice
from random import Random
from typing import Any
from urllib.parse import quote

from agentworld_sim.engines.search import Cell, PageKind, WebPage
from agentworld_sim.extras import require
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_schema import Column, Row, Table
from agentworld_sim.fiction.name_grammar import draw_names
from agentworld_sim.fiction.page_texts import with_texts

LINES = 40
"""Lines of a list on one page."""

LISTS = 3
"""Lists of one table, each by another column."""

NEWS, OFFICIAL, FORUM = 0.5, 0.5, 0.4
"""The chance that a thing has such a page, beside its article in the encyclopaedia."""

TOP_LEVEL = "alt"
"""Under which all hosts stand. RFC 9476 keeps it out of the domain name system for good: no host of a world can ever
be a real one, and the name does not say that it is made up, as `.test` and `.example` do."""

SEPARATORS = 10_000
"""From which numbers with a unit are written with separators."""


def fiction_pages(fiction: Fiction) -> Iterator[WebPage]:
    """All pages of a world, in one order; the same world has the same pages."""
    for page in _PageWriter(fiction).pages():
        yield with_texts(page, fiction.schema.texts.get(page.url, {}))


def value_text(column: Column, value: Any) -> str:
    """How pages write a value that is no reference: `June 18, 2024`, `12,500`, `yes`."""
    if column.type == "date":
        day = date.fromisoformat(value)
        return f"{day:%B} {day.day}, {day.year}"
    if column.type == "boolean":
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if column.unit and not isinstance(value, str) and abs(value) >= SEPARATORS:
        return f"{value:,}"
    return str(value)


@dataclass(frozen=True)
class _Entry:
    """A row with a title, and the addresses of the pages about it; empty where there is no such page."""

    table: Table
    row: Row
    title: str
    url: str
    news: str
    official: str
    forum: str
    variant: int
    """Which of several wordings its pages have."""

    @property
    def facts(self) -> list[Column]:
        """All columns but the title."""
        return [column for column in self.table.columns if column.name != self.table.title]


@dataclass(frozen=True)
class _Part:
    """Rows that refer to a thing by one column, as a section of its article and the pages that go on from there."""

    table: Table
    by: Column
    columns: Sequence[Column]
    """What is shown of each; of rows with a title, none."""
    rows: Sequence[Row]

    @property
    def heading(self) -> str:
        return f"{_upper(self.table.noun[1])} - {self.by.label}"

    def more(self, url: str) -> list[tuple[str, str]]:
        """The pages that go on from the article at `url`: what they are called, and their addresses."""
        letters = map(_letter, range(1, _pages_of(self.rows)))
        return [(letter, f"{url}/{_slug(self.heading)}/{letter}") for letter in letters]


class _Sheet:
    """What one page shows: each fact that is taken from it is one of the page's."""

    def __init__(self, writer: _PageWriter, url: str) -> None:
        self._writer = writer
        self.url = url
        self.cells: dict[Cell, None] = {}

    def title(self, entry: _Entry) -> str:
        """A link to the article about a row."""
        self.cells[Cell(entry.table.name, entry.row[entry.table.key], entry.table.title)] = None
        return f"[{entry.title}]({entry.url})"

    def value(self, table: Table, row: Row, column: Column) -> str | None:
        """What the page says that a cell is, without its unit; `None` where it is empty."""
        cell = Cell(table.name, row[table.key], column.name)
        value = self._writer.fiction.shown_value(cell, self.url)
        if value is None:
            return None
        self.cells[cell] = None
        if not column.references:
            return value_text(column, value)
        entry = self._writer.entries.get((column.references, value))
        return (
            self.title(entry) if entry else self._writer.fiction.title_of(column.references, value)
        )

    def measures(
        self, table: Table, row: Row, columns: Iterable[Column]
    ) -> Iterator[tuple[str, str]]:
        """The labels of columns and the same with units; `-` for what is empty."""
        for column in columns:
            value = self.value(table, row, column)
            yield column.label, "-" if value is None else f"{value} {column.unit}".rstrip()

    def sentences(
        self, entry: _Entry, columns: Iterable[Column], variant: int
    ) -> Iterator[tuple[str, str]]:
        """The labels of columns and sentences with the facts, as far as the family has some and the row the facts."""
        for column in columns:
            value = self.value(entry.table, entry.row, column) if column.says else None
            if value is not None:
                says = column.says[variant % len(column.says)]
                yield column.label, _sentence(says)(title=entry.title, value=value)
                variant += 1

    def line(self, part: _Part, row: Row) -> str | list[str]:
        """A row of a part: a link, or the values of its columns."""
        self.cells[Cell(part.table.name, row[part.table.key], part.by.name)] = None
        if part.table.title:
            return self.title(self._writer.entries[part.table.name, row[part.table.key]])
        return [text for _, text in self.measures(part.table, row, part.columns)]


class _PageWriter:
    def __init__(self, fiction: Fiction) -> None:
        self.fiction = fiction
        self._seed = f"{fiction.recipe.seed}/pages"
        self._today = date.fromisoformat(fiction.schema.today)
        self._titled = [table for table in fiction.schema.tables if table.title]
        taken = {row[table.title] for table in self._titled for row in fiction.rows[table.name]}
        chance = Random(self._seed)
        places = draw_names("place", "invented", 40, chance)
        first, second, third, *_ = (name for name in places if name not in taken)
        self._people = draw_names("person", "invented", 60, chance)
        wiki, paper, board = f"{first}pedia", f"The {second} Courier", f"{third} Board"
        self._wiki = f"https://en.{_slug(wiki)}.{TOP_LEVEL}/wiki/"
        self._paper = f"https://www.{_slug(paper)}.{TOP_LEVEL}/"
        self._board = f"https://forum.{_slug(board)}.{TOP_LEVEL}/t/"
        main_page = f"[Main page]({self._wiki}Main_Page)"
        self._sites = {"wiki": wiki, "paper": paper, "board": board, "main_page": main_page}

    @cached_property
    def entries(self) -> Mapping[tuple[str, int], _Entry]:
        """The rows with a title, by table and key."""
        taken: set[str] = set()
        return {
            (table.name, row[table.key]): self._entry(table, row, taken)
            for table in self._titled
            for row in self.fiction.rows[table.name]
        }

    def _entry(self, table: Table, row: Row, taken: set[str]) -> _Entry:
        title: str = row[table.title]
        name, slug = title, _slug(title)
        while slug in taken:
            name, slug = f"{name} ({table.noun[0]})", f"{slug}-{_slug(table.noun[0])}"
        taken.add(slug)
        chance = Random(f"{self._seed}/{table.name}/{row[table.key]}")
        news, official, forum = (chance.random() < share for share in (NEWS, OFFICIAL, FORUM))
        return _Entry(
            table,
            row,
            title,
            url=self._wiki + quote(name.replace(" ", "_")),
            news=f"{self._paper}{_slug(table.noun[1])}/{slug}" if news else "",
            official=f"https://www.{slug}.{TOP_LEVEL}/" if official else "",
            forum=f"{self._board}{slug}" if forum else "",
            variant=chance.randrange(4),
        )

    @cached_property
    def _parts(self) -> Mapping[tuple[str, int], list[_Part]]:
        """What refers to a row, by the row's table and key."""
        found: dict[tuple[str, int], list[_Part]] = {}
        for table in self.fiction.schema.tables:
            for by in table.columns:
                referring: dict[int, list[Row]] = {}
                for row in self.fiction.rows[table.name] if by.references else ():
                    if row[by.name] is not None:
                        referring.setdefault(row[by.name], []).append(row)
                for key, rows in referring.items():
                    part = _Part(table, by, _columns_of_part(table, by), rows)
                    found.setdefault((by.references, key), []).append(part)
        return found

    def pages(self) -> Iterator[WebPage]:
        lists = [
            f"[{_list_name(table, column)}]({self._list_urls(table, column)[0]})"
            for table in self._titled
            for column in self._list_columns(table)
        ]
        about = f"{self._sites['wiki']}: {self.fiction.schema.about}"
        sheet = _Sheet(self, f"{self._wiki}Main_Page")
        yield self._page("table", sheet, heading="Main page", intro=about, lines=lists)
        for table in self._titled:
            for row in self.fiction.rows[table.name]:
                yield from self._about(self.entries[table.name, row[table.key]])
            for column in self._list_columns(table):
                yield from self._lists(table, column)

    def _page(
        self, kind: PageKind, sheet: _Sheet, day: date | None = None, **names: Any
    ) -> WebPage:
        """A page as its template writes it: title, teaser, and then the text."""
        if day is not None:
            names["day"] = f"{day:%B} {day.day}, {day.year}"
        title, teaser, text = _template(kind)(**self._sites, **names).split("\n", 2)
        return WebPage(
            url=sheet.url,
            title=title,
            text=text,
            kind=kind,
            date=day.isoformat() if day else "",
            teaser=teaser,
            cells=tuple(sheet.cells),
        )

    def _about(self, entry: _Entry) -> Iterator[WebPage]:
        names = {**vars(entry), "a_noun": entry.table.a_noun}
        yield from self._article(entry, names)
        if entry.news:
            yield self._news(entry, names)
        if entry.official:
            yield self._official(entry, names)
        if entry.forum:
            yield self._forum(entry, names)

    def _sheet(self, entry: _Entry, url: str) -> tuple[_Sheet, Random]:
        """A page about a row, and what is drawn for it."""
        sheet = _Sheet(self, url)
        sheet.title(entry)
        return sheet, Random(url)

    def _article(self, entry: _Entry, names: Mapping[str, Any]) -> Iterator[WebPage]:
        sheet, _ = self._sheet(entry, entry.url)
        parts = self._parts.get((entry.table.name, entry.row[entry.table.key]), ())
        box = _without_gaps(sheet.measures(entry.table, entry.row, entry.facts))
        said = [text for _, text in sheet.sentences(entry, entry.facts, entry.variant)]
        columns = self._list_columns(entry.table)
        nouns = _upper(entry.table.noun[1])
        yield self._page(
            "encyclopaedia",
            sheet,
            **names,
            box=box,
            labels=[
                label.lower() for label, _ in box[entry.variant : entry.variant + 3] or box[:1]
            ],
            lead=said[:3],
            rest=said[3:],
            parts=[
                {
                    "heading": part.heading,
                    "head": [column.label for column in part.columns],
                    "lines": [sheet.line(part, row) for row in part.rows[:LINES]],
                    "more": part.more(entry.url),
                }
                for part in parts
            ],
            category=f"[{nouns}]({self._list_urls(entry.table, columns[0])[0]})"
            if columns
            else nouns,
        )
        for part in parts:
            for place, (letter, url) in enumerate(part.more(entry.url), 1):
                sheet = _Sheet(self, url)
                yield self._page(
                    "table",
                    sheet,
                    heading=f"{entry.title}: {part.heading.lower()}, part {letter}",
                    intro=f"This list begins in the article on {sheet.title(entry)}.",
                    head=[column.label for column in part.columns],
                    lines=[sheet.line(part, row) for row in part.rows[place * LINES :][:LINES]],
                )

    def _news(self, entry: _Entry, names: Mapping[str, Any]) -> WebPage:
        sheet, chance = self._sheet(entry, entry.news)
        facts = list(
            islice(sheet.sentences(entry, _shuffle(entry.facts, chance), chance.randrange(4)), 3)
        )
        return self._page(
            "news",
            sheet,
            self._day(entry, chance),
            **names,
            author=chance.choice(self._people),
            about=facts[0][0].lower() if facts else "facts",
            sentences=[sentence for _, sentence in facts],
        )

    def _official(self, entry: _Entry, names: Mapping[str, Any]) -> WebPage:
        sheet, chance = self._sheet(entry, entry.official)
        half = _shuffle(entry.facts, chance)[: (len(entry.facts) + 1) // 2]
        box = sheet.measures(entry.table, entry.row, sorted(half, key=entry.facts.index))
        return self._page("official", sheet, **names, box=_without_gaps(box))

    def _forum(self, entry: _Entry, names: Mapping[str, Any]) -> WebPage:
        sheet, chance = self._sheet(entry, entry.forum)
        asker, *others = (
            name.lower().replace(" ", "_")[:9] for name in chance.sample(self._people, 3)
        )
        facts = sheet.sentences(entry, _shuffle(entry.facts, chance), chance.randrange(4))
        return self._page(
            "forum",
            sheet,
            self._day(entry, chance),
            **names,
            plural=_upper(entry.table.noun[1]),
            asker=asker,
            posts=[
                (other, chance.randint(0, 60), text)
                for other, (_, text) in zip(others, facts, strict=False)
            ],
        )

    def _day(self, entry: _Entry, chance: Random) -> date:
        """When something was written: after the last that it could tell, in the three years before today."""
        dates = [
            entry.row[one.name] for one in entry.facts if one.type == "date" and entry.row[one.name]
        ]
        first = max(
            *map(date.fromisoformat, dates), self._today - timedelta(days=3 * 365), date.min
        )
        return (
            first + (self._today - first) * chance.random() if first < self._today else self._today
        )

    def _list_columns(self, table: Table) -> list[Column]:
        """The columns by which there are lists of a table."""
        facts = [column for column in table.columns if column.name != table.title]
        few = min(LISTS, -(-len(facts) // 2))
        return sorted(_shuffle(facts, Random(f"{self._seed}/{table.name}"))[:few], key=facts.index)

    def _list_urls(self, table: Table, column: Column) -> list[str]:
        """The addresses of a list's pages."""
        first = self._wiki + quote(_list_name(table, column).replace(" ", "_"))
        pages = range(1, _pages_of(self.fiction.rows[table.name]))
        return [first, *(f"{first}/{_letter(place)}" for place in pages)]

    def _lists(self, table: Table, column: Column) -> Iterator[WebPage]:
        rows = sorted(self.fiction.rows[table.name], key=lambda row: row[table.title])
        urls = self._list_urls(table, column)
        for place, url in enumerate(urls):
            sheet = _Sheet(self, url)
            yield self._page(
                "table",
                sheet,
                heading=_list_name(table, column) + (f", part {_letter(place)}" if urls[1:] else ""),
                intro=f"All {table.noun[1]} of which there are articles, in the order of their names.",
                head=(_upper(table.noun[0]), column.label),
                lines=[
                    [sheet.title(self.entries[table.name, row[table.key]]), *(text for _, text in sheet.measures(table, row, [column]))]
                    for row in rows[place * LINES :][:LINES]
                ],
                parts=[(f"Part {_letter(other)}", there) for other, there in enumerate(urls) if there != url],
            )  # fmt: skip


def _columns_of_part(table: Table, by: Column) -> list[Column]:
    """What of rows without a title stands on the pages of those that they refer to: of the first reference all, of the
    others the references, and no more than half of the facts."""
    if table.title:
        return []
    others = [column for column in table.columns if column is not by]
    if by is next(column for column in table.columns if column.references):
        return others
    facts = [column for column in others if not column.references]
    return [column for column in others if column.references or column in facts[: len(facts) // 2]]


def _without_gaps(measures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(label, text) for label, text in measures if text != "-"]


def _shuffle(columns: Sequence[Column], chance: Random) -> list[Column]:
    return chance.sample(columns, len(columns))


def _list_name(table: Table, column: Column) -> str:
    return f"List of {table.noun[1]} by {column.label.lower()}"


def _pages_of(rows: Sequence[Row]) -> int:
    """Over how many pages a list of rows goes."""
    return -(-len(rows) // LINES)


def _letter(place: int) -> str:
    """`A` to `Z`, then `AA`, …: a number could be one that the world withholds from searches."""
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _slug(text: str) -> str:
    return "-".join("".join(one if one.isalnum() else " " for one in text.lower()).split())


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _environment() -> Any:
    sandbox = require("jinja2.sandbox", extra="fiction")
    return sandbox.SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)


@cache
def _template(kind: str) -> Callable[..., str]:
    path = resources.files("agentworld_sim.fiction").joinpath(f"templates/{kind}.md.j2")
    return _sentence(path.read_text(encoding="utf-8"))


@cache
def _sentence(text: str) -> Callable[..., str]:
    return _environment().from_string(text).render
