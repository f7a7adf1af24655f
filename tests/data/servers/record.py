"""Records what the real servers answer: `make record-servers`.

What is different each time (the folder, times, random names) is written as it is in the replay.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

from tests.data.servers.calls import CALLS, FILES, LINKS, ROOT
from tests.servers.real import SERVERS, real_server

HERE = Path(__file__).resolve().parent


def lay_out(folder: Path) -> None:
    """Makes the files that the calls are about."""
    for path, content in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            target.mkdir()
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
    for path, target in LINKS.items():
        (folder / path).symlink_to(target)


def moved(value: Any, old: str, new: str) -> Any:
    """`value` with one folder's path for another's, everywhere."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [moved(one, old, new) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        return {key: moved(one, old, new) for key, one in held.items()}
    return value


def steady(value: Any) -> Any:
    """`value` without what no two runs have in common."""
    if isinstance(value, str):
        value = re.sub(r"\.[0-9a-f]{32}\.tmp", ".<random>.tmp", value)
        return re.sub(r"(created|modified|accessed): .*", r"\1: <time>", value)
    if isinstance(value, list):
        return [steady(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: steady(one) for key, one in cast("dict[str, Any]", value).items()}
    return value


def answer(result: Any) -> dict[str, Any]:
    """What counts of a `tools/call` result."""
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {"content": dumped["content"]}
    if "structuredContent" in dumped:
        kept["structured"] = dumped["structuredContent"]
    if dumped.get("isError"):
        kept["is_error"] = True
    return kept


async def recorded(name: str) -> Mapping[str, Any]:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "files"
        folder.mkdir()
        if name == "filesystem":
            lay_out(folder)
        async with real_server(name, folder).client() as client:
            listed = await client.list_tools()
            calls: list[dict[str, Any]] = []
            for tool, arguments in CALLS[name]:
                while True:
                    second = int(time.time())
                    result = await client.call_tool(tool, moved(arguments, ROOT, str(folder)))
                    if name != "time" or second == int(time.time()):
                        break
                call: dict[str, Any] = {"tool": tool, "arguments": arguments}
                if name == "time":
                    call["at"] = second
                calls.append(call | steady(moved(answer(result), str(folder), ROOT)))
            info = client.server_info
            tools = [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                for tool in listed.tools
            ]
            for tool in tools:
                # What it is for is told in the server's own words, which are not ours to keep.
                for key in ("description", "title", "icons", "_meta"):
                    tool.pop(key, None)
            return {
                "server": info.name if info else "",
                "version": info.version if info else "",
                "tools": tools,
                "calls": calls,
            }


def file_entries() -> dict[str, Any]:
    """`FILES` for a scenario."""
    return {
        f"{ROOT}/{path}": {"base64": base64.b64encode(content).decode()}
        if isinstance(content, bytes)
        else content
        for path, content in FILES.items()
    }


_LIBRARIES = """
import { createTwoFilesPatch } from 'diff';
import { minimatch } from 'minimatch';
import { readFileSync } from 'fs';
const given = JSON.parse(readFileSync(0));
const tried = (path, pattern) => {
  try { return minimatch(path, pattern, { dot: true }); } catch { return null; }
};
console.log(JSON.stringify({
  patches: given.patches.map(([a, b]) => createTwoFilesPatch('f', 'f', a, b, 'original', 'modified')),
  patterns: given.patterns.map(([path, pattern]) => tried(path, pattern)),
  orders: given.orders.map(names => [...names].sort((a, b) => a.localeCompare(b))),
}));
"""
"""The three things that the filesystem server takes from elsewhere."""

_PIECES = (
    "a b . * ** ? [ab] [!a] [^b] {a,b} {a,b/c} / / *(a|b) +(a) ?(b) @(a|b*) .a é 1 {1..3}".split()
)


def library_cases(random: Random) -> dict[str, Any]:
    """Texts to compare, paths with patterns, and names to sort."""

    def text() -> str:
        lines = "".join(random.choice("abc ") + "\n" for _ in range(random.choice([0, 2, 9, 25])))
        return lines[:-1] if random.random() < 0.3 else lines

    def changed(before: str) -> str:
        lines = before.split("\n")
        for _ in range(random.randrange(5)):
            at = random.randrange(len(lines))
            lines[at : at + random.randrange(2)] = [random.choice("abcd")] * random.randrange(2)
            lines = lines or [""]
        return "\n".join(lines)

    def path() -> str:
        return "/".join(
            "".join(random.choice(["a", "b", "1", "c", "é", "ab"]) for _ in range(2))
            for _ in range(random.randrange(1, 4))
        )

    before = [text() for _ in range(150)]
    after = [changed(one) if random.random() < 0.8 else text() for one in before]
    patterns = ["".join(random.choices(_PIECES, k=random.randrange(1, 6))) for _ in range(400)]
    names = [
        ["".join(random.choices("aAbBzZäÄé10_-. (", k=3)) for _ in range(8)] for _ in range(30)
    ]
    return {
        "patches": list(zip(before, after, strict=True)),
        "patterns": [(path(), pattern) for pattern in patterns],
        "orders": names,
    }


def recorded_libraries() -> Mapping[str, Any]:
    given = library_cases(Random(1))
    node = subprocess.run(
        ["node", "--input-type=module", "-e", _LIBRARIES],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        cwd=SERVERS,
        timeout=60,
    )
    said = json.loads(node.stdout)
    return {key: list(zip(given[key], said[key], strict=True)) for key in given}


def main() -> None:
    if not sys.argv[1:]:
        text = json.dumps(recorded_libraries(), ensure_ascii=False)
        (HERE / "libraries.json").write_text(text + "\n", encoding="utf-8")
    for name in sys.argv[1:] or CALLS:
        text = json.dumps(asyncio.run(recorded(name)), indent=1, ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
