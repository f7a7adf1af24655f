"""`FileAgreementCheck`: a written file is read back exactly, and a listing agrees with the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from agentworld_sim.checks import FileAgreementCheck
from agentworld_sim.types.files import FileEntry
from agentworld_sim.types.turns import Turn

from .judging import judged, turn

PATH = "/app/notes.txt"
NOTES = "first line\n  second line\n\nfourth, and last\n"
LONG = "".join(f"row {n} of the table\n" for n in range(1, 301))


def said(
    name: str,
    arguments: Mapping[str, Any],
    text: str,
    *,
    files: Mapping[str, str | bytes | FileEntry] | None = None,
    history: Sequence[Turn] = (),
    **more: Any,
) -> str | None:
    return judged(FileAgreementCheck(), name, arguments, text, files=files, history=history, **more)


def numbered(text: str, separator: str, first: int = 1) -> str:
    rows = enumerate(text.rstrip("\n").split("\n"), first)
    return "\n".join(f"{number:6}{separator}{row}" for number, row in rows)


READS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": PATH}),
    ("read_file", {"absolute_path": PATH, "offset": None}),
    ("Read", {"file_path": PATH}),
    ("view", {"path": PATH}),
    ("cat", {"file": PATH}),
    ("mcp__filesystem__read_text_file", {"path": PATH}),
    ("getFileContents", {"filename": "/app/./notes.txt"}),
    ("str_replace_based_edit_tool", {"command": "view", "path": PATH}),
]
SHOWN = [
    NOTES,
    NOTES.strip(),
    NOTES.replace("\n", "\r\n"),
    f"Content of {PATH}:\n```\n{NOTES}```",
    json.dumps({"content": NOTES}),
    numbered(NOTES, "\t"),
    numbered(NOTES, "→"),
    numbered(NOTES, " | "),
    numbered(NOTES, ": "),
    numbered(NOTES, "  "),
    "<file>\n" + numbered(NOTES, "| ") + "\n</file>",
    f"{numbered(NOTES, '→')}\n     5→",
    "Error: permission denied",
]
TRUNCATED = """
IMPORTANT: The file content has been truncated.
Status: Showing lines 1-2 of 300 total lines.
Action: To read more, use offset: 2.

--- FILE CONTENT (truncated) ---
row 1 of the table
row 2 of the table"""
WRONG = [
    NOTES.replace("second", "third"),
    NOTES.replace("  second", "second"),
    numbered(NOTES.replace("second", "third"), "\t"),
    numbered(NOTES + "fifth\n", "→"),
    numbered("first line\n  second line\n", "\t"),
    "first line\n  second line",
    "File is empty.",
    "",
    f"Error: no such file or directory: {PATH}",
    json.dumps({"content": NOTES.replace("last", "least")}),
]


@pytest.mark.parametrize(("name", "arguments"), READS)
@pytest.mark.parametrize("shown", SHOWN)
def test_a_known_file_may_be_shown_in_every_usual_way(
    name: str, arguments: dict[str, Any], shown: str
) -> None:
    assert said(name, arguments, shown, files={PATH: NOTES}) is None


@pytest.mark.parametrize(("name", "arguments"), READS)
@pytest.mark.parametrize("shown", WRONG)
def test_other_content_is_refused(name: str, arguments: dict[str, Any], shown: str) -> None:
    reason = said(name, arguments, shown, files={PATH: NOTES})
    assert reason is not None
    assert PATH in reason


def test_the_reason_names_the_first_line_that_differs() -> None:
    assert said("Read", {"file_path": PATH}, WRONG[0], files={PATH: NOTES}) == (
        "/app/notes.txt holds other content: line 2 is '  second line'. A file that was written is"
        " read back exactly"
    )


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"offset": 10, "limit": 2}, "row 10 of the table\nrow 11 of the table"),
        ({"offset": 10, "limit": 2}, numbered("row 10 of the table\nrow 11 of the table", "→", 10)),
        (
            {"view_range": [10, 11]},
            f"Here are lines 10-11 of {PATH}:\nrow 10 of the table\nrow 11 of the table\n",
        ),
        (
            {"limit": 2},
            TRUNCATED,
        ),
        ({"offset": 900}, "Warning: the file is shorter than the provided offset (900)."),
        ({}, LONG[:2000].rpartition("\n")[0] + "\n... [truncated]"),
        ({}, "row 1 of the table\n...\nrow 300 of the table"),
        ({}, numbered(LONG[:4000].rpartition("\n")[0], "\t")),
        ({}, numbered("row 1 of the table\nrow 2 of the", "\t") + "... [truncated]"),
    ],
)
def test_a_part_that_was_asked_for_or_is_marked_agrees(more: dict[str, Any], shown: str) -> None:
    assert said("read_file", {"path": PATH, **more}, shown, files={PATH: LONG}) is None


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"offset": 10, "limit": 2}, "row 10 of the table\nrow 99 of a table"),
        ({"offset": 10, "limit": 3}, "row 10 of the table\nrow x\nrow 12 of the table"),
        ({"offset": 10, "limit": 2}, numbered("row 10 of the table\nrow 12 of the table", "→", 10)),
        ({"offset": 900}, numbered("row 900 of the table", "\t", 900)),
        ({}, "row 1 of the table\nrow 2 of a table\n... [truncated]"),
        ({}, numbered("row 1 of the table\nrow 3", "\t") + "... [truncated]"),
    ],
)
def test_a_part_that_differs_is_refused(more: dict[str, Any], shown: str) -> None:
    assert said("read_file", {"path": PATH, **more}, shown, files={PATH: LONG}) is not None


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": PATH, "content": NOTES}),
    ("Write", {"file_path": PATH, "content": NOTES}),
    ("create_file", {"filename": PATH, "text": NOTES}),
    ("str_replace_based_edit_tool", {"command": "create", "path": PATH, "file_text": NOTES}),
]


@pytest.mark.parametrize(("name", "arguments"), WRITES)
def test_a_file_that_an_imagined_tool_wrote_is_read_back(
    name: str, arguments: dict[str, Any]
) -> None:
    history = [turn(name, arguments), turn("list_issues", {}), turn("send_mail", {"to": "a@b.c"})]
    call = {"path": PATH}
    assert said("read_file", call, NOTES, history=history) is None
    assert said("read_file", call, "other\ncontent", history=history) is not None
    assert said("read_file", {"path": "/app/else.txt"}, "other", history=history) is None
    # What was written last counts, not the tree.
    assert said("read_file", call, NOTES, files={PATH: "old\n"}, history=history) is None


def test_an_edit_is_followed() -> None:
    edit = {"file_path": PATH, "old_string": "second", "new_string": "2nd"}
    history = [turn("Edit", edit)]
    after = NOTES.replace("second", "2nd")
    call = {"file_path": PATH}
    assert said("Read", call, after, files={PATH: NOTES}, history=history) is None
    assert said("Read", call, NOTES, files={PATH: NOTES}, history=history) is not None


@pytest.mark.parametrize(
    "between",
    [
        turn("run_shell_command", {"command": "make"}),
        turn("git_checkout", {"branch": "main"}),
        turn("format_file", {"path": PATH}),
        turn("append_to_file", {"path": PATH, "content": "more"}),
        turn("Edit", {"file_path": PATH, "old_string": "nothing like it", "new_string": "x"}),
        turn("move_file", {"source": PATH, "destination": "/app/b"}),
        turn("write_file", {"path": PATH, "content": "x"}, "Error: disk full"),
    ],
    ids=lambda one: one.call.name,
)
def test_after_a_call_of_unknown_effect_nothing_is_sure(between: Turn) -> None:
    history = [turn("write_file", {"path": PATH, "content": NOTES}), between]
    assert said("read_file", {"path": PATH}, "something else", history=history) is None


def test_a_failed_or_computed_write_changes_nothing_that_the_tree_does_not_say() -> None:
    write = {"path": PATH, "content": "new\n"}
    for earlier in (
        turn("write_file", write, "no", is_error=True),
        turn("write_file", write, provenance="computed"),
        turn("write_file", write, provenance="enforced"),
    ):
        history = [earlier]
        assert (
            said("read_file", {"path": PATH}, NOTES, files={PATH: NOTES}, history=history) is None
        )
        assert said("read_file", {"path": PATH}, "new\n", files={PATH: NOTES}, history=history)


DELETED = [
    turn("delete_file", {"path": PATH}),
    turn("bash", {"command": "rm x"}, provenance="computed", removed=[PATH]),
]


@pytest.mark.parametrize("deletion", DELETED, ids=["by a tool", "in the tree"])
def test_a_deleted_file_is_neither_read_nor_listed(deletion: Turn) -> None:
    history, files = [deletion], {"/app/a.txt": "a"}
    assert said("read_file", {"path": PATH}, NOTES, files=files, history=history) == (
        "/app/notes.txt was deleted, and nothing has created it since"
    )
    assert said("read_file", {"path": PATH}, "File not found", files=files, history=history) is None
    listing = {"path": "/app"}
    assert said("ls", listing, "a.txt", files=files, history=history) is None
    assert said("ls", listing, "a.txt\nnotes.txt", files=files, history=history) == (
        "'notes.txt' was deleted from /app, and nothing has created it since"
    )
    history.append(turn("write_file", {"path": PATH, "content": NOTES}))
    assert said("ls", listing, "a.txt\nnotes.txt", files=files, history=history) is None


def test_what_lies_in_a_deleted_directory_is_gone_until_it_is_written() -> None:
    history = [turn("delete_directory", {"path": "/app"})]
    files = {PATH: NOTES}
    assert said("read_file", {"path": PATH}, NOTES, files=files, history=history) is not None
    history.append(turn("write_file", {"path": PATH, "content": NOTES}))
    assert said("read_file", {"path": PATH}, NOTES, files=files, history=history) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_file_contents", {"owner": "o", "repo": "r", "path": PATH}),
        ("read_email", {"path": PATH}),
        ("summarize_file", {"path": PATH}),
        ("read_file", {"path": PATH, "branch": "dev"}),
        ("read_file", {"path": "notes.txt"}),
        ("read_file", {}),
        ("bash", {"command": f"cat {PATH}"}),
        ("view_image", {"path": PATH}),
        ("read_multiple_files", {"path": PATH}),
        ("edit_file", {"path": PATH}),
    ],
)
def test_a_call_that_may_mean_something_else_is_not_judged(
    name: str, arguments: dict[str, Any]
) -> None:
    assert said(name, arguments, "whatever\nit says", files={PATH: NOTES}) is None


def test_files_that_are_no_text_are_not_judged() -> None:
    for content in (b"\xff\xfe\x00", b"a\0b"):
        assert said("read_file", {"path": PATH}, "binary", files={PATH: content}) is None
    notebook = {"/a.ipynb": "{}{}{}"}
    assert said("read_file", {"path": "/a.ipynb"}, "<cell>", files=notebook) is None


def test_an_empty_file_is_shown_as_empty() -> None:
    call, files = {"path": PATH}, {PATH: ""}
    assert said("read_file", call, "", files=files) is None
    assert said("read_file", call, "System reminder: the file is empty", files=files) is None
    assert said("read_file", call, "import a\nimport b\n\na()\nb()", files=files) is not None


def test_symbolic_links_are_followed() -> None:
    link = FileEntry("symlink", content="notes.txt")
    files: dict[str, str | bytes | FileEntry] = {PATH: NOTES, "/app/link": link}
    assert said("cat", {"path": "/app/link"}, NOTES, files=files) is None
    assert said("cat", {"path": "/app/link"}, "else\n", files=files) is not None
    circle: dict[str, str | bytes | FileEntry] = {"/app/c": FileEntry("symlink", content="c")}
    assert said("cat", {"path": "/app/c"}, "else\n", files=circle) is None


def test_structured_content_counts_as_shown() -> None:
    call, files = {"path": PATH}, {PATH: NOTES}
    assert said("read_file", call, "", structured={"content": NOTES}, files=files) is None
    assert said("read_file", call, "", structured={"lines": NOTES.split("\n")}, files=files) is None
    assert said("read_file", call, "", structured={"content": "else"}, files=files) is not None


TREE = {
    "/app/main.py": "x",
    "/app/My Notes.md": "x",
    "/app/src/util.py": "x",
    "/app/.env": "x",
    "/app/node_modules/a.js": "x",
    "/app/data.csv": "x",
    "/app/.gitignore": "*.csv\n",
}


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("ls", {"path": "/app"}, "/app/main.py\n/app/My Notes.md\n/app/src/"),
        ("LS", {"path": "/app/"}, "- /app/\n  - main.py\n  - My Notes.md\n  - src/\n    - util.py"),
        ("list_directory", {"path": "/app"}, "[DIR] src\n[FILE] main.py\n[FILE] My Notes.md"),
        ("list_directory", {"dir_path": "/app"}, "src\nmain.py\nMy Notes.md\nextra.py"),
        ("list_directory", {"path": "/app"}, "src\nmain.py\n... 3 more"),
        ("list_directory", {"path": "/app", "ignore": ["*.md"]}, "src\nmain.py"),
        ("list_directory", {"path": "/app", "cursor": "x"}, "src\nmain.py"),
        (
            "directory_tree",
            {"path": "/app"},
            '[{"name": "src"}, {"name":"main.py"}, "My Notes.md"]',
        ),
        ("ls", {"path": "/app"}, "Error: permission denied"),
        ("ls", {"path": "."}, "whatever"),
        ("ls", {"path": "/else"}, "No such file or directory"),
        ("ls", {"path": "/else"}, "a\nb"),
        (
            "ls",
            {"path": "/app"},
            "-rw-r--r-- 1 r r 1 main.py\ndrwxr-xr-x 2 r r 1 src\n1 My Notes.md",
        ),
        ("list_allowed_directories", {}, "/app"),
        ("glob", {"path": "/app", "pattern": "*.md"}, "/app/My Notes.md"),
    ],
)
def test_a_listing_that_names_everything_it_must_agrees(
    name: str, arguments: dict[str, Any], text: str
) -> None:
    assert said(name, arguments, text, files=TREE) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("src\nMy Notes.md", "/app also contains 'main.py'"),
        ("main.py.bak\nsrc\nMy Notes.md", "/app also contains 'main.py'"),
        ("main.py\nsrc\nMy", "/app also contains 'My Notes.md'"),
        ("", "/app also contains 'My Notes.md', 'main.py', 'src'"),
        ("No such file or directory", "/app exists and is a directory"),
        (
            "[FILE] src\n[FILE] main.py\n[FILE] My Notes.md",
            "'src' in /app is a directory",
        ),
        ("[DIR] src\n[DIR] main.py\n[FILE] My Notes.md", "'main.py' in /app is a file"),
    ],
)
def test_a_listing_that_contradicts_the_tree_is_refused(text: str, reason: str) -> None:
    assert said("list_directory", {"path": "/app"}, text, files=TREE) == reason


def test_a_listing_names_what_was_written_before() -> None:
    history = [turn("write_file", {"path": "/app/new.py", "content": "x"})]
    assert said("ls", {"path": "/app"}, "main.py", history=history) == (
        "/app also contains 'new.py'"
    )
    assert said("ls", {"path": "/app"}, "new.py", history=history) is None


def test_many_missing_names_are_counted() -> None:
    files = {f"/d/f{n:02}": "x" for n in range(20)}
    assert said("ls", {"path": "/d"}, "", files=files) == (
        "/d also contains 'f00', 'f01', 'f02', 'f03', 'f04' and 15 more"
    )


CONTENT = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1)


@given(CONTENT)
def test_a_file_that_is_shown_as_it_is_agrees(content: str) -> None:
    for shown in (content, content.strip("\n"), json.dumps(content), numbered(content, "\t")):
        assert said("read_file", {"path": PATH}, shown, files={PATH: content}) is None


LINES = st.lists(st.text("abcdefgh xyz(){}=", min_size=3), min_size=3, max_size=30)


@given(LINES, st.data())
def test_one_other_character_in_the_middle_is_refused(
    lines: list[str], data: st.DataObject
) -> None:
    content = "\n".join(lines)
    assume(content.strip())
    at = data.draw(st.integers(len(lines[0]) + 1, len(content) - len(lines[-1]) - 2))
    assume(content[at] != "\n")
    shown = content[:at] + "?" + content[at + 1 :]
    history = [turn("write_file", {"path": PATH, "content": content})]
    assert said("read_file", {"path": PATH}, shown, history=history) is not None
    assert said("read_file", {"path": PATH}, numbered(shown, "→"), history=history) is not None


@given(LINES, st.data())
def test_any_range_of_lines_agrees(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    part = "\n".join(lines[start:end])
    call = {"path": PATH, "offset": start + 1, "limit": end - start}
    files = {PATH: "\n".join(lines)}
    for shown in (part, numbered(part, "→", start + 1)):
        assert said("read_file", call, shown, files=files) is None


@pytest.mark.parametrize(
    "shown",
    ["x" * 5_000_000, "x\n" * 500_000, "...\nx\n" * 300_000, "{" * 1_000_000, "1\t" * 1_000_000],
    ids=["one line", "many lines", "many cuts", "braces", "tabs"],
)
def test_huge_answers_are_judged_at_once(shown: str) -> None:
    said("read_file", {"path": PATH}, shown, files={PATH: "y\n" * 100_000})
    said("ls", {"path": "/app"}, shown, files=TREE)
