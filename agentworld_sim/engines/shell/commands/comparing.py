"""`diff` and `cmp` of GNU diffutils."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import _diff_forms as forms
from agentworld_sim.engines.shell.commands._difference import Change, changes
from agentworld_sim.engines.shell.commands._figures import full_time
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, joined, tool, why

_OPTIONS = Options(
    "0123456789abBcC:dD:eEfF:hHiI:lL:nNpPqrsS:tTuU:vwW:x:X:yZ",
    {
        "binary": "", "brief": "q", "changed-group-format": ":", "color": "::", "context": "::",
        "ed": "e", "exclude": "x", "exclude-from": "X", "expand-tabs": "t", "forward-ed": "f",
        "from-file": ":", "horizon-lines": ":", "ifdef": "D", "ignore-all-space": "w",
        "ignore-blank-lines": "B", "ignore-case": "i", "ignore-file-name-case": "",
        "ignore-matching-lines": "I", "ignore-space-change": "b", "ignore-tab-expansion": "E",
        "ignore-trailing-space": "Z", "initial-tab": "T", "label": "L", "left-column": "",
        "line-format": ":", "minimal": "d", "new-file": "N", "new-group-format": ":",
        "new-line-format": ":", "no-dereference": "", "no-ignore-file-name-case": "",
        "normal": "", "old-group-format": ":", "old-line-format": ":", "paginate": "l",
        "palette": ":", "rcs": "n", "recursive": "r", "report-identical-files": "s",
        "sdiff-merge-assist": "", "show-c-function": "p", "show-function-line": "F",
        "side-by-side": "y", "speed-large-files": "H", "starting-file": "S",
        "strip-trailing-cr": "", "suppress-blank-empty": "", "suppress-common-lines": "",
        "tabsize": ":", "text": "a", "to-file": ":", "unchanged-group-format": ":",
        "unchanged-line-format": ":", "unidirectional-new-file": "P", "unified": "::",
        "width": "W",
    },
    exit_code=2,
)  # fmt: skip
_CMP = Options(
    "bci:ln:sv",
    {
        "print-bytes": "b", "print-chars": "c", "ignore-initial": "i", "verbose": "l",
        "bytes": "n", "quiet": "s", "silent": "s",
    },
    exit_code=2,
)  # fmt: skip


class _Diff:
    def __init__(self, running: Tool, given: Parsed) -> None:
        self.tool, self.given = running, given
        self.style, self.context = self._style()
        color = given.value("color") if "color" in given else "never"
        self.colors = forms.ALWAYS if color == "always" else forms.Colors()
        self.labels = given.values("L")
        self.key = _line_key(given)
        words = [w for w in running.call.argv if w.startswith("-") and w != "-"]
        self.command = " ".join(["diff", *words])

    def refuse(self, text: str) -> UsageError:
        name = self.tool.name
        return UsageError(f"{name}: {text}\n{name}: Try '{name} --help' for more information.\n", 2)

    def _style(self) -> tuple[str, int]:
        style, context, digits = "normal", -1, ""
        for name, value in self.given.options:
            if name.isdigit():
                digits += name
            elif name in ("u", "U", "unified"):
                style = "unified"
            elif name in ("c", "C", "context"):
                style = "context"
            elif name in ("e", "n", "y"):
                style = {"e": "ed", "n": "rcs", "y": "side"}[name]
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
            same = self.tool.files.realpath(self.tool.path(left)) == self.tool.files.realpath(
                self.tool.path(right)
            )
            if not same:
                self._folders(left, right)
            return
        if folders[0] and right != "-":
            left = joined(left, base_name(right))
        elif folders[1] and left != "-":
            right = joined(right, base_name(left))
        self._pair(left, right, "")

    def _is_folder(self, operand: str) -> bool:
        return operand != "-" and self.tool.is_directory(operand)

    def _read(self, operand: str) -> bytes | None:
        if operand == "-":
            return (self.tool.call.stdin or "").encode("utf-8", "surrogateescape")
        try:
            return self.tool.files.read(self.tool.path(operand))
        except OSError as error:
            if "N" in self.given and error.errno == errno.ENOENT:
                return None
            raise

    def _pair(self, left: str, right: str, title: str) -> None:
        sides: list[bytes] = []
        missing: list[bool] = []
        failed = False
        for operand in (left, right):
            try:
                data = self._read(operand)
                sides.append(data or b"")
                missing.append(data is None)
            except OSError as error:
                self.tool.complain(f"{operand}: {why(error)}", 2)
                failed = True
        if failed:
            return
        if all(missing):
            for operand in (left, right):
                self.tool.complain(f"{operand}: {os.strerror(errno.ENOENT)}", 2)
            return
        self._compare(left, right, sides[0], sides[1], title)

    def _compare(self, left: str, right: str, old: bytes, new: bytes, title: str) -> None:
        given, say = self.given, self.tool.say
        if old == new:
            if "s" in given:
                say(f"Files {left} and {right} are identical")
            if self.style == "side" and "suppress-common-lines" not in given:
                self._show(left, right, old, new, [], title)
            return
        if "a" not in given and (b"\0" in old[:32768] or b"\0" in new[:32768]):
            quiet = "Files" if "q" in given else "Binary files"
            say(f"{quiet} {left} and {right} differ")
            self.tool.code = max(self.tool.code, 1)
            return
        a, b = _lines(old, given), _lines(new, given)
        horizon = self.context if self.style in ("unified", "context") else 0
        found = changes(list(map(self.key, a)), list(map(self.key, b)), horizon=horizon)
        found = [c for c in found if not self._ignored(c, a, b)]
        if not found and self.style != "side":
            if "s" in given:
                say(f"Files {left} and {right} are identical")
            return
        if found:
            self.tool.code = max(self.tool.code, 1)
        if "q" in given:
            if found:
                say(f"Files {left} and {right} differ")
            return
        self._show(left, right, old, new, found, title)

    def _ignored(self, change: Change, a: list[str], b: list[str]) -> bool:
        lines = a[change.old_start : change.old_end] + b[change.new_start : change.new_end]
        if "B" in self.given and all(not line.strip("\n") for line in lines):
            return True
        patterns = [re.compile(p) for p in self.given.values("I")]
        return bool(patterns) and all(any(p.search(ln) for p in patterns) for ln in lines)

    def _show(
        self, left: str, right: str, old: bytes, new: bytes, found: list[Change], title: str
    ) -> None:
        given = self.given
        sides = forms.Sides(_lines(old, given), _lines(new, given), found)
        function = "p" in given
        if title:
            self.tool.say(title)
        match self.style:
            case "unified":
                self._header(left, right, "---", "+++")
                text = forms.unified(sides, self.context, self.colors, function=function)
            case "context":
                self._header(left, right, "***", "---")
                text = forms.context(sides, self.context, self.colors, function=function)
            case "ed":
                text = forms.ed(sides)
                for operand, data in ((left, old), (right, new)):
                    if data and not data.endswith(b"\n"):
                        self.tool.complain(f"{operand}: No newline at end of file\n", 2)
            case "rcs":
                text = forms.rcs(sides)
            case "side":
                text = forms.side_by_side(
                    sides,
                    int(given.value("W") or "130"),
                    expand="t" in given,
                    common="suppress-common-lines" not in given,
                    left_column="left-column" in given,
                )
            case _:
                text = forms.normal(sides, self.colors, "\t" if "T" in given else " ")
        self.tool.out.extend(text)

    def _header(self, left: str, right: str, first: str, second: str) -> None:
        labels = [*self.labels, "", ""]
        for mark, operand, label in ((first, left, labels[0]), (second, right, labels[1])):
            text = label or f"{operand}\t{self._time(operand)}"
            self.tool.out.append(self.colors.wrap(self.colors.header, f"{mark} {text}\n"))

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
            a, b = joined(left, name), joined(right, name)
            if len(there) == 1 and not ("N" in self.given and not self._one_sided(a, b)):
                self.tool.say(f"Only in {left if there == 'l' else right}: {name}")
                self.tool.code = max(self.tool.code, 1)
                continue
            folders = self._is_folder(a), self._is_folder(b)
            if any(folders) and (all(folders) or len(there) == 1):
                if "r" in self.given:
                    self._folders(a, b)
                elif all(folders):
                    self.tool.say(f"Common subdirectories: {a} and {b}")
            elif any(folders):
                kinds = [
                    "directory" if f else self._kind(p)
                    for f, p in zip(folders, (a, b), strict=True)
                ]
                self.tool.say(f"File {a} is a {kinds[0]} while file {b} is a {kinds[1]}")
                self.tool.code = max(self.tool.code, 1)
            else:
                self._pair(a, b, f"{self.command} {a} {b}")

    def _one_sided(self, a: str, b: str) -> bool:
        """Whether a name that is on one side only is a folder that `-N` without `-r` skips."""
        return (self._is_folder(a) or self._is_folder(b)) and "r" not in self.given

    def _kind(self, operand: str) -> str:
        stat = self.tool.stat(operand)
        if stat.kind == "file":
            return "regular file" if stat.size else "regular empty file"
        return {"fifo": "fifo"}.get(stat.kind, stat.kind)

    def _names(self, left: str, right: str) -> Iterator[tuple[str, str]]:
        sides: list[set[str]] = []
        for folder in (left, right):
            found: set[str] = set()
            if self.tool.is_directory(folder):
                names = self.tool.files.listdir(self.tool.path(folder))
                found = {n for n in names if not any(fnmatchcase(n, p) for p in self._excluded())}
            sides.append(found)
        for name in sorted(sides[0] | sides[1], key=lambda n: n.encode("utf-8", "surrogateescape")):
            yield name, ("l" if name in sides[0] else "") + ("r" if name in sides[1] else "")

    def _excluded(self) -> list[str]:
        patterns = self.given.values("x")
        for file in self.given.values("X"):
            patterns += self.tool.files.read(self.tool.path(file)).decode().splitlines()
        return patterns


def _lines(data: bytes, given: Parsed) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    if "strip-trailing-cr" in given:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _line_key(given: Parsed) -> Callable[[str], str]:
    """What of a line counts in the comparison."""

    def key(line: str) -> str:
        loose = any(name in given for name in ("w", "b", "Z"))
        if loose:
            # A missing newline at the end is white space too.
            line = line.removesuffix("\n")
        if "w" in given:
            line = re.sub(r"\s+", "", line)
        elif "b" in given:
            line = re.sub(r"\s+", " ", line).rstrip(" ")
        elif "Z" in given:
            line = line.rstrip()
        if "E" in given:
            line = line.expandtabs()
        return line.lower() if "i" in given else line

    return key


@tool
def diff(running: Tool) -> None:
    try:
        given = _OPTIONS.parse(running.name, running.call.argv)
    except UsageError as refused:
        text = refused.result.stderr.replace("\nTry '", f"\n{running.name}: Try '")
        raise UsageError(text, 2) from None
    _Diff(running, given).run()


@tool
def cmp(running: Tool) -> None:
    given = _CMP.parse(running.name, running.call.argv)
    operands = list(given.operands)
    if not operands:
        text = f"{running.name}: missing operand after '{running.name}'\n"
        raise UsageError(
            f"{text}{running.name}: Try '{running.name} --help' for more information.\n", 2
        )
    skips = (given.value("i") or "0").split(":")
    skips += [*operands[2:4], *skips[-1:]]
    for skip in skips:
        if not skip.isdigit():
            text = f"{running.name}: invalid --ignore-initial value '{skip}'\n"
            hint = f"{running.name}: Try '{running.name} --help' for more information.\n"
            raise UsageError(text + hint, 2)
    operands = [*operands, "-"][:2]
    sides: list[bytes] = []
    for operand, skip in zip(operands, skips, strict=False):
        try:
            if operand == "-":
                data = (running.call.stdin or "").encode("utf-8", "surrogateescape")
            else:
                data = running.files.read(running.path(operand))
        except OSError as error:
            if "s" not in given or error.errno != errno.ENOENT:
                running.complain(f"{operand}: {why(error)}", 2)
            running.code = 2
            return
        sides.append(data[int(skip) :])
    limit = given.value("n")
    if limit is not None:
        sides = [data[: int(limit)] for data in sides]
    _report(running, given, operands, sides[0], sides[1])


def _report(running: Tool, given: Parsed, names: list[str], a: bytes, b: bytes) -> None:
    if a == b:
        return
    running.code = 1
    common = min(len(a), len(b))
    first = next((i for i in range(common) if a[i] != b[i]), None)
    if "s" in given:
        return
    if "l" in given:
        width = len(str(max(len(a), len(b))))
        for i in range(common):
            if a[i] != b[i]:
                running.say(f"{i + 1:{width}d} {a[i]:3o} {b[i]:3o}")
    elif first is not None:
        line = a[:first].count(b"\n") + 1
        more = ""
        if "b" in given:
            more = f" is {a[first]:3o} {_shown(a[first])} {b[first]:3o} {_shown(b[first])}"
        running.say(f"{names[0]} {names[1]} differ: byte {first + 1}, line {line}{more}")
        return
    if len(a) != len(b):
        short, data = (names[0], a) if len(a) < len(b) else (names[1], b)
        if not data:
            running.complain(f"EOF on {short} which is empty")
        elif "l" in given:
            running.complain(f"EOF on {short} after byte {len(data)}")
        else:
            lines = data.count(b"\n")
            where = f"line {lines}" if data.endswith(b"\n") else f"in line {lines + 1}"
            running.complain(f"EOF on {short} after byte {len(data)}, {where}")


def _shown(byte: int) -> str:
    text = "M-" if byte >= 128 else ""
    byte &= 127
    return text + ("^" + chr(byte ^ 64) if byte < 32 or byte == 127 else chr(byte))


COMMANDS: Mapping[str, Command] = {"diff": diff}
