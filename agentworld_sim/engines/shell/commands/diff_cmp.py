"""`diff` and `cmp` of GNU diffutils."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._formats import full_time, kind_text
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, join_path, strerror, tool
from agentworld_sim.engines.shell.line_differences import Change, changes

_OPTIONS = Options(
    "0123456789abBcC:diL:NqrsuU:wx:Z",
    {
        "brief": "q", "color": "::", "context": "::", "exclude": "x", "ignore-all-space": "w",
        "ignore-blank-lines": "B", "ignore-case": "i", "ignore-space-change": "b",
        "ignore-trailing-space": "Z", "label": "L", "minimal": "d", "new-file": "N", "normal": "",
        "recursive": "r", "report-identical-files": "s", "strip-trailing-cr": "", "text": "a",
        "unified": "::",
    },
    exit_code=2,
    name_in_hint=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sides:
    """The lines of both files, each with its newline where it has one."""

    old: Sequence[str]
    new: Sequence[str]
    changes: Sequence[Change]


class _Diff:
    def __init__(self, running: Tool, given: CommandLine) -> None:
        self.tool, self.given = running, given
        self.style, self.context = self._style()
        if given.value("color") not in (None, "", "never", "auto"):
            raise self.refuse(f"invalid color '{given.value('color')}'")
        words = [w for w in running.call.argv if w.startswith("-") and w != "-"]
        self.command = " ".join(["diff", *words])

    def refuse(self, text: str) -> UsageError:
        return _OPTIONS.refuse(self.tool.name, text)

    def _style(self) -> tuple[str, int]:
        style, context, digits = "normal", -1, ""
        for name, value in self.given.options:
            if name.isdigit():
                digits += name
            elif name in ("u", "U", "unified"):
                style = "unified"
            elif name in ("c", "C", "context"):
                style = "context"
            if name in ("U", "C") or (name in ("unified", "context") and value):
                if not value.isdigit():
                    raise self.refuse(f"invalid context length '{value}'")
                context = max(context, int(value))
        if digits:
            context = int(digits)
        return style, 3 if context < 0 else context

    def run(self) -> None:
        operands = list(self.given.operands)
        if len(operands) < 2:
            last = operands[-1] if operands else self.tool.name
            raise self.refuse(f"missing operand after '{last}'")
        if len(operands) > 2:
            raise self.refuse(f"extra operand '{operands[2]}'")
        left, right = operands
        folders = [self._is_folder(left), self._is_folder(right)]
        if all(folders):
            files, path = self.tool.files, self.tool.path
            if files.realpath(path(left)) != files.realpath(path(right)):
                self._folders(left, right)
            return
        if folders[0] and right != "-":
            left = join_path(left, base_name(right))
        elif folders[1] and left != "-":
            right = join_path(right, base_name(left))
        self._pair(left, right, "")

    def _is_folder(self, operand: str) -> bool:
        return operand != "-" and self.tool.is_directory(operand)

    def _pair(self, left: str, right: str, title: str) -> None:
        sides: list[bytes | None] = []
        failed = False
        for operand in (left, right):
            try:
                sides.append(_content(self.tool, operand))
            except OSError as error:
                if "N" in self.given and error.errno == errno.ENOENT:
                    sides.append(None)
                    continue
                self.tool.complain(f"{operand}: {strerror(error)}", 2)
                failed = True
        if failed:
            return
        if not any(side is not None for side in sides):
            for operand in (left, right):
                self.tool.complain(f"{operand}: {os.strerror(errno.ENOENT)}", 2)
            return
        self._compare(left, right, sides[0] or b"", sides[1] or b"", title)

    def _compare(self, left: str, right: str, old: bytes, new: bytes, title: str) -> None:
        given, say = self.given, self.tool.say
        binary = b"\0" in old[:32768] or b"\0" in new[:32768]
        if old != new and "a" not in given and binary:
            say(f"{'Files' if 'q' in given else 'Binary files'} {left} and {right} differ")
            self.tool.code = max(self.tool.code, 1)
            return
        a, b = _lines(old, given), _lines(new, given)
        keys = [[_line_key(given, line) for line in lines] for lines in (a, b)]
        found = changes(keys[0], keys[1])
        if "B" in given:
            found = [
                c for c in found if any(line.strip("\n") for line in _lines_of_change(c, a, b))
            ]
        if not found:
            if "s" in given:
                say(f"Files {left} and {right} are identical")
            return
        self.tool.code = max(self.tool.code, 1)
        if "q" in given:
            say(f"Files {left} and {right} differ")
            return
        if title:
            say(title)
        sides = Sides(a, b, found)
        if self.style == "normal":
            self.tool.out.extend(_normal_format(sides))
            return
        unified = self.style == "unified"
        labels = [*given.values("L"), "", ""]
        marks = ("---", "+++") if unified else ("***", "---")
        for mark, operand, label in zip(marks, (left, right), labels, strict=False):
            say(f"{mark} {label}" if label else f"{mark} {operand}\t{self._time(operand)}")
        self.tool.out.extend((unified_format if unified else _context_format)(sides, self.context))

    def _time(self, operand: str) -> str:
        if operand == "-":
            return full_time(self.tool.call.clock.now_us())
        try:
            return full_time(self.tool.stat(operand).mtime_us)
        except OSError:
            return full_time(0)

    # Folders

    def _folders(self, left: str, right: str) -> None:
        for name, there in self._names(left, right):
            a, b = join_path(left, name), join_path(right, name)
            folders = self._is_folder(a), self._is_folder(b)
            # A name that is on one side only is compared with nothing; a folder only with -r.
            if len(there) == 1 and (
                "N" not in self.given or (any(folders) and "r" not in self.given)
            ):
                self.tool.say(f"Only in {left if there == 'l' else right}: {name}")
                self.tool.code = max(self.tool.code, 1)
            elif any(folders) and (all(folders) or len(there) == 1):
                if "r" in self.given:
                    self._folders(a, b)
                else:
                    self.tool.say(f"Common subdirectories: {a} and {b}")
            elif any(folders):
                kinds = [
                    "directory" if folder else self._kind(path)
                    for folder, path in zip(folders, (a, b), strict=True)
                ]
                self.tool.say(f"File {a} is a {kinds[0]} while file {b} is a {kinds[1]}")
                self.tool.code = max(self.tool.code, 1)
            else:
                self._pair(a, b, f"{self.command} {a} {b}")

    def _kind(self, operand: str) -> str:
        stat = self.tool.stat(operand)
        return kind_text(stat) if stat.kind == "file" else stat.kind

    def _names(self, left: str, right: str) -> Iterator[tuple[str, str]]:
        sides: list[set[str]] = []
        excluded = self.given.values("x")
        for folder in (left, right):
            there = self.tool.is_directory(folder)
            names = self.tool.files.listdir(self.tool.path(folder)) if there else []
            sides.append({n for n in names if not any(fnmatchcase(n, p) for p in excluded)})
        for name in sorted(sides[0] | sides[1], key=lambda n: n.encode("utf-8", "surrogateescape")):
            yield name, ("l" if name in sides[0] else "") + ("r" if name in sides[1] else "")


def _content(running: Tool, operand: str) -> bytes:
    if operand == "-":
        return (running.call.stdin or "").encode("utf-8", "surrogateescape")
    return running.files.read(running.path(operand))


def _lines(data: bytes, given: CommandLine) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return split_lines(text.replace("\r\n", "\n") if "strip-trailing-cr" in given else text)


def split_lines(text: str) -> list[str]:
    """Lines with the newlines that they end with."""
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _line_key(given: CommandLine, line: str) -> str:
    """What of a line counts in the comparison."""
    if any(name in given for name in ("w", "b", "Z")):
        # A missing newline at the end is white space too.
        line = line.removesuffix("\n")
    if "w" in given:
        line = re.sub(r"\s+", "", line)
    elif "b" in given:
        line = re.sub(r"\s+", " ", line).rstrip(" ")
    elif "Z" in given:
        line = line.rstrip()
    return line.lower() if "i" in given else line


def _lines_of_change(change: Change, a: Sequence[str], b: Sequence[str]) -> list[str]:
    return [*a[change.old_start : change.old_end], *b[change.new_start : change.new_end]]


# How differences are written


def _prefix_lines(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
        yield mark + line + end


def _range(start: int, end: int) -> str:
    return f"{start + 1},{end}" if end - start > 1 else str(end)


def _normal_format(sides: Sides) -> Iterator[str]:
    for c in sides.changes:
        removed, added = c.old_end > c.old_start, c.new_end > c.new_start
        letter = "c" if removed and added else "d" if removed else "a"
        yield f"{_range(c.old_start, c.old_end)}{letter}{_range(c.new_start, c.new_end)}\n"
        yield from _prefix_lines("< ", sides.old[c.old_start : c.old_end])
        if letter == "c":
            yield "---\n"
        yield from _prefix_lines("> ", sides.new[c.new_start : c.new_end])


def _hunks(sides: Sides, context: int) -> Iterator[tuple[list[Change], Change]]:
    """Changes that are shown together, and all the lines that are shown with them."""
    hunks: list[list[Change]] = []
    for change in sides.changes:
        if hunks and change.old_start - hunks[-1][-1].old_end <= 2 * context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    for hunk in hunks:
        before = min(context, hunk[0].old_start)
        after = min(context, len(sides.old) - hunk[-1].old_end)
        yield (
            hunk,
            Change(
                hunk[0].old_start - before,
                hunk[-1].old_end + after,
                hunk[0].new_start - before,
                hunk[-1].new_end + after,
            ),
        )


def _range_header(start: int, end: int) -> str:
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"


def unified_format(
    sides: Sides, context: int, show_range: Callable[[int, int], str] = _range_header
) -> Iterator[str]:
    for hunk, around in _hunks(sides, context):
        old = show_range(around.old_start, around.old_end)
        yield f"@@ -{old} +{show_range(around.new_start, around.new_end)} @@\n"
        at = around.old_start
        for c in hunk:
            yield from _prefix_lines(" ", sides.old[at : c.old_start])
            yield from _prefix_lines("-", sides.old[c.old_start : c.old_end])
            yield from _prefix_lines("+", sides.new[c.new_start : c.new_end])
            at = c.old_end
        yield from _prefix_lines(" ", sides.old[at : around.old_end])


def _context_format(sides: Sides, context: int) -> Iterator[str]:
    for hunk, around in _hunks(sides, context):
        old = [(c.old_start, c.old_end, "- " if c.new_end == c.new_start else "! ") for c in hunk]
        new = [(c.new_start, c.new_end, "+ " if c.old_end == c.old_start else "! ") for c in hunk]
        yield f"***************\n*** {_range(around.old_start, around.old_end)} ****\n"
        yield from _one_side(sides.old, around.old_start, around.old_end, old)
        yield f"--- {_range(around.new_start, around.new_end)} ----\n"
        yield from _one_side(sides.new, around.new_start, around.new_end, new)


def _one_side(
    lines: Sequence[str], at: int, end: int, spans: Sequence[tuple[int, int, str]]
) -> Iterator[str]:
    """One side of a hunk; nothing where none of its lines changes."""
    if all(first == last for first, last, _ in spans):
        return
    for first, last, mark in spans:
        yield from _prefix_lines("  ", lines[at:first])
        yield from _prefix_lines(mark, lines[first:last])
        at = last
    yield from _prefix_lines("  ", lines[at:end])


@tool
def diff(running: Tool) -> None:
    _Diff(running, _OPTIONS.parse(running.name, running.call.argv)).run()


def cmp(call: CommandCall) -> CommandResult:
    """The embedded shell's own in the words of diffutils 3.8; with `-s` it says nothing of missing files."""
    done = call.native(call.argv, call.stdin, program="cmp")
    said = "" if {"-s", "--quiet", "--silent"} & set(call.argv) else done.stderr
    stdout = re.sub(r"( differ: )char (\d+, line)", r"\1byte \2", done.stdout)
    return CommandResult(stdout, said, done.exit_code)
