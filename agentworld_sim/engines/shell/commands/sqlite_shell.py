"""`sqlite3`, the command-line shell of SQLite."""

from __future__ import annotations

import csv
import json
import re
import shlex
import sqlite3 as library
from collections.abc import Iterator, Sequence

from agentworld_sim.engines.shell.bash_texts import unfaithful
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.shell.commands.sqlite_file import Database, Row, StatementError, Value

_BARS = {"list": "|", "csv": ",", "tabs": "\t", "quote": ","}
_GRIDS: dict[str, tuple[str, Sequence[str], str, str]] = {
    "box": ("┌─┬┐", "├─┼┤", "└─┴┘", "│"), "table": ("+-++", "+-++", "+-++", "|"),
    "markdown": ("", "|-||", "", "|"), "column": ("", ("", "-", "  ", ""), "", ""),
}  # fmt: skip
"""The lines above, below the names and at the end, and what stands between columns."""

_MODES = "ascii box column csv html insert json line list markdown qbox quote table tabs tcl"
_SHOWN = ("json", "line", *_BARS, *_GRIDS)
_SILENT = ("changes", "echo", "eqp", "stats", "timeout", "timer", "width")
_ABSENT = "archive auth backup bail binary cd check clone connection databases dbinfo excel expert explain filectrl fullschema help imposter limit lint load log once open parameter print progress prompt recover restore save scanstats selftest session sha3sum shell show system testcase trace vfsinfo vfslist vfsname".split()
"""Dot commands that are not answered here."""
_OBJECTS = "SELECT {} FROM sqlite_schema WHERE {} AND {} LIKE ? ORDER BY {}"
_OWN = "sql NOTNULL AND name NOT LIKE 'sqlite_%' AND type"


class _Exit(Exception):
    """The shell ends, with this exit code."""


class _Shell:
    def __init__(self, t: Tool, database: Database) -> None:
        self.t, self.database = t, database
        self.mode, self.between, self.after, self.null = "list", "|", "\n", ""
        self.heads: bool | None = None
        self.errors = 0
        self.sink = ""
        self.texts: dict[str, list[str]] = {}
        """What goes to files."""

    def read(self, text: str) -> None:
        """Runs SQL and dot commands, line by line; errors are counted."""
        sql, start = "", 1
        lines = text.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, 1):
            if not sql.strip():
                sql, start = "", number
            if not sql and line.startswith("."):
                self._attempt(line, "")
                continue
            sql += line + "\n"
            if number == len(lines) or (";" in line and library.complete_statement(sql)):
                self._attempt(sql, f" near line {start}")
                sql = ""

    def _attempt(self, text: str, place: str) -> None:
        try:
            self.run(text)
        except StatementError as error:
            kind = "Runtime error" if error.prepared else "Parse error"
            self.t.err.append(f"{kind}{place}: {error.text}\n")
        except UsageError as error:
            self.t.err.append(error.result.stderr)
        else:
            return
        self.errors += 1

    def run(self, text: str) -> None:
        """Runs one dot command, or statements.

        Raises:
            StatementError: a statement failed.
            UsageError: a dot command is not known, or what it names is not there.
            _Exit: the shell is to end.
        """
        if not text.startswith("."):
            for names, rows in self.database.run(text):
                self.write("".join(self._lines(names, rows)))
            return
        try:
            name, *words = shlex.split(text[1:]) or [""]
        except ValueError:
            name, *words = text[1:].split() or [""]
        methods = (method[4:] for method in dir(self) if method.startswith("dot_"))
        names = (*methods, *_SILENT, *_ABSENT)
        known = next((one for one in names if name and one.startswith(name)), None)
        if known in _ABSENT:
            raise unfaithful(f"sqlite3 .{known}", text)
        if known is None:
            said = f'unknown command or invalid arguments:  "{name}". Enter ".help" for help'
            raise UsageError(f"Error: {said}\n")
        if known in _SILENT:
            return
        try:
            getattr(self, f"dot_{known}")(words)
        except (IndexError, ValueError):
            raise UsageError(f"Error: invalid arguments: {text.strip()}\n") from None
        except library.Error as error:
            raise UsageError(f"Error: {error}\n") from None

    # Output

    def write(self, text: str) -> None:
        (self.texts[self.sink] if self.sink else self.t.out).append(text)

    def _lines(self, names: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
        if names == ["id", "parent", "notused", "detail"]:
            yield "QUERY PLAN\n"
            yield from _plan(rows, 0, "")
            return
        if not rows:
            return
        if self.mode == "json":
            keys = [_json(name) for name in names]
            objects = (map("{}:{}".format, keys, map(self._json, row)) for row in rows)
            yield "[" + ",\n".join("{" + ",".join(pairs) + "}" for pairs in objects) + "]\n"
        elif self.mode == "line":
            heads = [name.rjust(max(5, *map(len, names))) for name in names]
            yield "\n".join(
                "".join(map("{} = {}\n".format, heads, map(self._text, row))) for row in rows
            )
        elif self.mode in _GRIDS:
            yield from self._grid(names, [[self._text(v) for v in row] for row in rows])
        else:
            show = {"csv": self._csv, "quote": self._sql}.get(self.mode, self._text)
            for row in [*([names] if self.heads else []), *rows]:
                yield self.between.join(map(show, row)) + self.after

    def _grid(self, names: Sequence[str], rows: list[list[str]]) -> Iterator[str]:
        top, middle, bottom, bar = _GRIDS[self.mode]
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        begin, between, end = (f"{bar} ", f" {bar} ", f" {bar}\n") if bar else ("", "  ", "\n")

        def rule(marks: Sequence[str]) -> str:
            if not marks:
                return ""
            left, dash, cross, right = marks
            lines = (dash * (width + len(bar) * 2) for width in widths)
            return left + cross.join(lines) + right + "\n"

        yield rule(top)
        if self.heads or bar:
            form = "{:^{}}" if bar else "{:<{}}"
            yield begin + between.join(map(form.format, names, widths)) + end + rule(middle)
        for row in rows:
            yield begin + between.join(map(str.ljust, row, widths)) + end
        yield rule(bottom)

    def _text(self, value: Value) -> str:
        if value is None:
            return self.null
        if isinstance(value, float):
            return self._form("CAST(? AS TEXT)", value)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        return str(value).partition("\0")[0]

    def _form(self, how: str, value: float) -> str:
        return self.database.plain.execute(f"SELECT {how}", (value,)).fetchone()[0]

    def _json(self, value: Value) -> str:
        if isinstance(value, (str, bytes)):
            return _json(self._text(value))
        return "null" if value is None else self._sql(value)

    def _sql(self, value: Value) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, float):
            return self._form("printf('%!.20g', ?)", value)
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        return _string(value) if isinstance(value, str) else str(value)

    def _csv(self, value: Value) -> str:
        text = self._text(value)
        special = rf"{re.escape(self.between)}|[\0- \"'\x7f-\U0010ffff]|^$"
        quoted = value is not None and re.search(special, text)
        return _identifier(text) if quoted else text

    # Dot commands

    def dot_dump(self, words: Sequence[str]) -> None:
        run, like = self.database.connection.execute, words[0] if words else "%"
        self.write("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
        for name, sql in self._objects("name, sql", f"{_OWN} = 'table'", "tbl_name", like, "rowid"):
            self.write(f"{_repeatable(str(sql))};\n")
            self._dump_rows(str(name))
        if run("SELECT * FROM sqlite_schema WHERE name = 'sqlite_sequence'").fetchall():
            self.write("DELETE FROM sqlite_sequence;\n")
            self._dump_rows("sqlite_sequence")
        for (sql,) in self._objects("sql", f"{_OWN} <> 'table'", "tbl_name", like, "rowid"):
            self.write(f"{sql};\n")
        self.write("COMMIT;\n")

    def _dump_rows(self, name: str) -> None:
        for row in self.database.connection.execute(f"SELECT * FROM {_identifier(name)}"):
            self.write(f"INSERT INTO {_name(name)} VALUES({','.join(map(self._sql, row))});\n")

    def _objects(self, what: str, kind: str, column: str, like: str, order: str) -> list[Row]:
        statement = _OBJECTS.format(what, kind, column, order)
        return self.database.connection.execute(statement, (like,)).fetchall()

    def dot_exit(self, words: Sequence[str]) -> None:
        raise _Exit(int(words[0]) if words else 0)

    def dot_headers(self, words: Sequence[str]) -> None:
        if len(words) != 1:
            raise UsageError("Usage: .headers on|off\n")
        self.heads = words[0].lower() in ("on", "yes", "true", "1")

    def dot_import(self, words: Sequence[str]) -> None:
        """`.import [--csv] [--skip N] FILE TABLE`"""
        words = list(words)
        skip = int(words.pop(words.index("--skip") + 1)) if "--skip" in words else 0
        path, table = [word for word in words if not word.startswith("-")][:2]
        between = "," if "--csv" in words else self.between
        self.after = "\n" if self.after == "\r\n" else self.after
        lines = self._file(path).splitlines(keepends=True)
        quoting = csv.QUOTE_MINIMAL if between == "," else csv.QUOTE_NONE
        rows = list(csv.reader(lines, delimiter=between, quoting=quoting))[skip:]
        run, number = self.database.connection.execute, skip
        names = [row[1] for row in run(f"PRAGMA table_info({_string(table)})")]
        if not names and rows:
            names, number = rows.pop(0), skip + 1
            columns = ", ".join(f"{_identifier(name)} TEXT" for name in names)
            run(f"CREATE TABLE {_identifier(table)}(\n{columns})")
        run("BEGIN")
        for row in rows:
            number += 1
            if len(row) != len(names):
                how = "filling the rest with NULL" if len(row) < len(names) else "extras ignored"
                said = f"expected {len(names)} columns but found {len(row)} - {how}"
                self.t.err.append(f"{path}:{number}: {said}\n")
            filled = [*row, *[None] * len(names)][: len(names)]
            run(f"INSERT INTO {_identifier(table)} VALUES({','.join('?' * len(names))})", filled)
        run("COMMIT")

    def dot_indexes(self, words: Sequence[str]) -> None:
        self._columns("type = 'index'", "tbl_name", words)

    dot_indices = dot_indexes

    def _columns(self, kind: str, column: str, words: Sequence[str]) -> None:
        like = words[0] if words else "%"
        names = [str(name) for (name,) in self._objects("name", kind, column, like, "1")]
        width = max(map(len, names), default=0)
        down = -(-len(names) // max(1, 80 // (width + 2)))
        for at in range(down):
            self.write("  ".join(name.ljust(width) for name in names[at::down]) + "\n")

    def dot_mode(self, words: Sequence[str]) -> None:
        mode = next((m for m in _SHOWN if words and m.startswith(words[0])), "")
        if words and not mode:
            raise UsageError(f"Error: mode should be one of: {_MODES}\n")
        self.mode = mode or self.mode
        self.between, self.after = _BARS.get(self.mode, "|"), "\r\n" if self.mode == "csv" else "\n"
        self.heads = True if mode == "column" and self.heads is None else self.heads

    def dot_nullvalue(self, words: Sequence[str]) -> None:
        self.null = words[0] if words else ""

    def dot_output(self, words: Sequence[str]) -> None:
        self.sink = words[0] if words and words[0] != "stdout" else ""
        self.texts[self.sink] = []

    def dot_quit(self, _: Sequence[str]) -> None:
        raise _Exit(0)

    def dot_read(self, words: Sequence[str]) -> None:
        self.read(self._file(words[0]))

    def _file(self, path: str) -> str:
        try:
            return self.t.files.read(self.t.path(path)).decode("utf-8", "surrogateescape")
        except OSError:
            raise UsageError(f'Error: cannot open "{path}"\n') from None

    def dot_schema(self, words: Sequence[str]) -> None:
        like = words[0] if words else "%"
        for kind, name, sql in self._objects(
            "type, name, sql", "sql NOTNULL", "tbl_name", like, "rowid"
        ):
            found = self.database.connection.execute(f"PRAGMA table_info({_string(str(name))})")
            columns = f"{_name(str(name))}({','.join(_name(row[1]) for row in found)})"
            self.write(_repeatable(str(sql)) + f"\n/* {columns} */" * (kind == "view") + ";\n")

    def dot_separator(self, words: Sequence[str]) -> None:
        texts = [word.encode().decode("unicode_escape") for word in words]
        self.between, self.after = [*texts, *(self.between, self.after)[len(texts) :]][:2]

    def dot_tables(self, words: Sequence[str]) -> None:
        self._columns(f"{_OWN} IN ('table', 'view')", "name", words)


def _plan(rows: Sequence[Row], parent: int, before: str) -> Iterator[str]:
    """The steps of a query plan that belong to the step `parent`, as a tree."""
    inside = [row for row in rows if row[1] == parent]
    for row in inside:
        arm, stem = ("`", " ") if row is inside[-1] else ("|", "|")
        yield f"{before}{arm}--{row[3]}\n"
        yield from _plan(rows, int(str(row[0])), f"{before}{stem}  ")


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else _identifier(name)


def _repeatable(sql: str) -> str:
    """The statement that made a table: where the name is quoted, it may be repeated."""
    return re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", sql)


@tool
def sqlite3(t: Tool) -> None:
    given, operands, first = list(t.call.argv), list[str](), list[str]()
    flags: set[str] = set()
    while given:
        word = given.pop(0)
        option = word.lstrip("-")
        if not word.startswith("-"):
            operands.append(word)
        elif option in ("nullvalue", "separator", "cmd"):
            value = given.pop(0) if given else ""
            first.append(value if option == "cmd" else f".{option} {shlex.quote(value)}")
        elif option in (*_SHOWN, "header", "noheader", "readonly", "batch", "version"):
            flags.add(option)
        else:
            said = f"unknown option: {word}\nUse -help for a list of options.\n"
            raise UsageError(f"{t.name}: Error: {said}")
    path, *statements = operands or [""]
    database = Database(t, path, read_only="readonly" in flags)
    if "version" in flags:
        source = database.plain.execute("SELECT sqlite_source_id()").fetchone()[0]
        t.say(f"{library.sqlite_version} {source}")
        return
    shell = _Shell(t, database)
    shell.mode = next(iter(flags.intersection(_SHOWN)), "list")
    shell.between = _BARS.get(shell.mode, "|")
    shell.heads = True if "header" in flags else None
    try:
        for text in [*first, *statements]:
            shell.run(text)
        if not statements:
            shell.read(t.call.read_stdin().decode("utf-8", "surrogateescape"))
        t.code = int(shell.errors > 0)
    except _Exit as ended:
        t.code = ended.args[0]
    except StatementError as error:
        t.err.append(f"Error: {'stepping' if error.prepared else 'in prepare'}, {error.text}\n")
        t.code = error.code
    except UsageError as error:
        t.err.append(error.result.stderr)
        t.code = 1
    try:
        database.save()
        for name, texts in shell.texts.items():
            if name:
                t.files.write(t.path(name), "".join(texts).encode("utf-8", "surrogateescape"))
    except OSError as error:
        t.err.append(f"Error: {strerror(error)}\n")
        t.code = 1
