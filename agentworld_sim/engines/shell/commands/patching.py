"""`patch` of GNU patch, for unified differences."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._options import Options, Parsed
from agentworld_sim.engines.shell.commands._patching import FilePatch, Hunk, place_of, read_patch
from agentworld_sim.engines.shell.commands._tool import Tool, joined, tool, why

_OPTIONS = Options(
    "bB:cd:D:eEfF:g:i:lnNo:p:r:RstTuvV:x:Y:z:Z",
    {
        "backup": "b", "prefix": "B", "context": "c", "directory": "d", "ed": "e",
        "remove-empty-files": "E", "force": "f", "fuzz": "F", "input": "i",
        "ignore-whitespace": "l", "normal": "n", "forward": "N", "output": "o", "strip": "p",
        "reject-file": "r", "reverse": "R", "quiet": "s", "silent": "s", "batch": "t",
        "unified": "u", "verbose": "", "dry-run": "", "suffix": "z", "no-backup-if-mismatch": "",
        "backup-if-mismatch": "", "merge": "::", "binary": "",
    },
    exit_code=2,
)  # fmt: skip


class _Patch:
    def __init__(self, running: Tool, given: Parsed) -> None:
        self.tool, self.given = running, given
        self.dry = "dry-run" in given
        self.quiet = "s" in given
        self.folder = given.value("d") or ""

    def say(self, text: str) -> None:
        if not self.quiet:
            self.tool.say(text)

    def run(self) -> None:
        given = self.given
        source = given.value("i") or (given.operands[1] if len(given.operands) > 1 else None)
        try:
            text = self._input(source)
        except OSError as error:
            self.tool.err.append(
                f"{self.tool.name}: **** Can't open patch file {source} : {why(error)}\n"
            )
            self.tool.code = 2
            return
        patches = read_patch(text)
        if not patches:
            if text.strip():
                self.tool.err.append(
                    f"{self.tool.name}: **** Only garbage was found in the patch input.\n"
                )
                self.tool.code = 2
            return
        for patch in patches:
            self._file(patch)

    def _input(self, source: str | None) -> str:
        if source is None or source == "-":
            return self.tool.call.stdin or ""
        data = self.tool.files.read(self.tool.path(self._inside(source)))
        return data.decode("utf-8", "surrogateescape")

    def _inside(self, name: str) -> str:
        return joined(self.folder, name) if self.folder and not name.startswith("/") else name

    def _target(self, patch: FilePatch) -> str | None:
        if self.given.operands:
            return self.given.operands[0]
        strip = self.given.value("p")
        names = [patch.old, patch.new]
        shown = [_stripped(name, strip) for name in names if name != "/dev/null"]
        there = [n for n in shown if n and self.tool.files.exists(self.tool.path(self._inside(n)))]
        if there:
            return min(there, key=lambda n: (n.count("/"), len(os.path.basename(n)), len(n)))
        creates = (patch.new if "R" in self.given else patch.old) == "/dev/null"
        makes = all(not hunk.side("-") for hunk in patch.hunks)
        return shown[-1] if shown and shown[-1] and (creates or makes) else None

    def _file(self, patch: FilePatch) -> None:
        target = self._target(patch)
        if target is None:
            self._missing(patch)
            return
        verb = "checking" if self.dry else "patching"
        self.say(
            f"{verb} file {target}"
            if "o" not in self.given
            else f"{verb} file {self.given.value('o')} (read from {target})"
        )
        path = self.tool.path(self._inside(target))
        old = ""
        if self.tool.files.exists(path):
            try:
                old = self.tool.files.read(path).decode("utf-8", "surrogateescape")
            except OSError as error:
                self.tool.complain(f"{target}: {why(error)}", 2)
                return
        hunks = [hunk.reversed() for hunk in patch.hunks] if "R" in self.given else patch.hunks
        lines = old.splitlines(keepends=True)
        if self._already(patch, target, lines, hunks):
            return
        result, rejected, moved = self._applied(lines, hunks)
        if rejected:
            self._reject(patch, target, rejected, len(hunks))
        if self.dry:
            return
        suffix = self.given.value("z") or ".orig"
        mismatch = (rejected or moved) and "no-backup-if-mismatch" not in self.given
        if "b" in self.given or mismatch:
            self.tool.files.write(path + suffix, old.encode("utf-8", "surrogateescape"))
        if len(rejected) < len(hunks):
            self._write(patch, path, "".join(result))

    def _write(self, patch: FilePatch, path: str, text: str) -> None:
        gone = (patch.old if "R" in self.given else patch.new) == "/dev/null"
        out = self.given.value("o")
        files = self.tool.files
        if not text and (gone or "E" in self.given) and out is None:
            if files.exists(path):
                files.remove(path)
            return
        path = path if out is None else self.tool.path(out)
        parent = path.rpartition("/")[0]
        if parent:
            files.mkdir(parent, parents=True)
        files.write(path, text.encode("utf-8", "surrogateescape"))

    def _missing(self, patch: FilePatch) -> None:
        say = self.tool.say
        strip = self.given.value("p")
        say(f"can't find file to patch at input line {3}")
        if strip is None:
            say("Perhaps you should have used the -p or --strip option?")
        else:
            say("Perhaps you used the wrong -p or --strip option?")
        say("The text leading up to this was:")
        say("--------------------------")
        say(f"|--- {patch.old_header}")
        say(f"|+++ {patch.new_header}")
        say("--------------------------")
        say("File to patch: ")
        say("Skip this patch? [y] ")
        say("Skipping patch.")
        count = len(patch.hunks)
        say(f"{count} out of {count} hunk{'s' if count > 1 else ''} ignored")
        self.tool.code = 1

    def _already(self, patch: FilePatch, target: str, lines: list[str], hunks: list[Hunk]) -> bool:
        """Whether the first hunk is there in reverse only: GNU patch asks, nobody answers."""
        first = hunks[0]
        fuzz = int(self.given.value("F") or "2")
        if any(place_of(lines, first, 0, 0, f) is not None for f in range(fuzz + 1)):
            return False
        back = first.reversed()
        if place_of(lines, back, 0, 0, 0) is None or "f" in self.given or "t" in self.given:
            return False
        kind = "Unreversed" if "R" in self.given else "Reversed (or previously applied)"
        count = len(hunks)
        plural = "s" if count > 1 else ""
        self.tool.code = 1
        if "N" in self.given:
            self.say(f"{kind} patch detected!  Skipping patch.")
        else:
            self.say(f"{kind} patch detected!  Assume -R? [n] ")
            self.say("Apply anyway? [n] ")
            self.say("Skipping patch.")
        ending = self._save_rejects(patch, target, hunks)
        self.say(f"{count} out of {count} hunk{plural} ignored{ending}")
        return True

    def _save_rejects(self, patch: FilePatch, target: str, hunks: list[Hunk]) -> str:
        if self.dry:
            return ""
        name = self.given.value("r") or f"{target}.rej"
        head = f"--- {patch.old_header}\n+++ {patch.new_header}\n"
        text = head + "".join(hunk.text() for hunk in hunks)
        path = self.tool.path(self._inside(name))
        self.tool.files.write(path, text.encode("utf-8", "surrogateescape"))
        return f" -- saving rejects to file {name}"

    def _applied(self, lines: list[str], hunks: list[Hunk]) -> tuple[list[str], list[Hunk], bool]:
        result = list(lines)
        rejected: list[Hunk] = []
        offset = shift = least = 0
        moved = False
        for number, hunk in enumerate(hunks, 1):
            wanted, put = hunk.side("-"), hunk.side("+")
            most = int(self.given.value("F") or "2")
            for fuzz in range(most + 1):
                place = place_of(lines, hunk, offset, least, fuzz)
                if place is not None:
                    break
            else:
                rejected.append(hunk)
                self.say(f"Hunk #{number} FAILED at {hunk.old_start + shift}.")
                continue
            expected = max(0, hunk.old_start - 1) if wanted else hunk.old_start
            offset = place - expected
            if offset or fuzz:
                moved = True
                self._moved(number, place + shift + 1, fuzz, offset)
            kept = list(lines[place : place + len(wanted)])
            result[place + shift : place + shift + len(wanted)] = _merged(hunk, kept)
            least = place + len(wanted)
            shift += len(put) - len(wanted)
        return result, rejected, moved

    def _moved(self, number: int, line: int, fuzz: int, offset: int) -> None:
        text = f"Hunk #{number} succeeded at {line}"
        if fuzz:
            text += f" with fuzz {fuzz}"
        if offset:
            text += f" (offset {offset} line{'' if abs(offset) == 1 else 's'})"
        self.say(text + ".")

    def _reject(self, patch: FilePatch, target: str, rejected: list[Hunk], count: int) -> None:
        self.tool.code = 1
        plural = "s" if count > 1 else ""
        ending = self._save_rejects(patch, target, rejected)
        self.say(f"{len(rejected)} out of {count} hunk{plural} FAILED{ending}")


def _merged(hunk: Hunk, kept: list[str]) -> list[str]:
    """The new lines; context comes from the file, where fuzz lets it differ."""
    result: list[str] = []
    at = 0
    for mark, line in hunk.lines:
        if mark == "+":
            result.append(line)
            continue
        if mark == " ":
            result.append(kept[at] if at < len(kept) else line)
        at += 1
    return result


def _stripped(name: str, strip: str | None) -> str:
    if strip is None:
        return os.path.basename(name)
    parts = [part for part in name.split("/") if part]
    return "/".join(parts[int(strip) :]) if int(strip) else name


@tool
def patch(running: Tool) -> None:
    given = _OPTIONS.parse(running.name, running.call.argv)
    folder = given.value("d")
    if folder is not None and not running.is_directory(folder):
        reason = os.strerror(errno.ENOENT)
        running.complain(f"**** Can't change to directory {folder} : {reason}", 2)
        return
    _Patch(running, given).run()


COMMANDS: Mapping[str, Command] = {"patch": patch}
