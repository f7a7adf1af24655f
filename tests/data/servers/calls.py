"""The calls that are put to a real server and to the computed one, and what they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Call = tuple[str, dict[str, Any]]

ROOT = "/srv/files"
"""Where the filesystem server works, in calls and answers."""

FILES: Mapping[str, str | bytes | None] = {
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "no newline at the end",
    "crlf.txt": "first\r\nsecond\r\nthird\r\n",
    "empty.txt": "",
    "latin.bin": b"caf\xe9 \x00\x01\xff\n",
    "dot.PNG": b"\x89PNG\r\n\x1a\n",
    "tone.mp3": b"ID3\x04",
    "data.json": '{\n  "name": "x",\n  "list": [\n    1,\n    2\n  ]\n}\n',
    "long.txt": "".join(f"line {number}\n" for number in range(1, 61)),
    "wide-Ünïcode 名.txt": "größe\n名前\n",
    ".hidden": "h\n",
    "empty": None,
    "src/main.py": "def main():\n    x = 1\n    if x:\n        print('hi')\n    return x\n",
    "src/test/test_main.py": "import main\n",
    "src/test/deep/x.js": "x\n",
    "src/README.md": "# readme\n```\ncode\n```\n",
    "node_modules/p/index.js": "module\n",
    "big.dat": b"\0" * 5000,
}
"""By path below the root; `None` is a directory."""

LINKS: Mapping[str, str] = {
    "link.txt": "a.txt",
    "dirlink": "src",
    "dangling": "nowhere/at/all",
    "outside": "/etc",
}


def _edit(path: str, *edits: tuple[str, str], **more: Any) -> Call:
    changes = [{"oldText": old, "newText": new} for old, new in edits]
    return "edit_file", {"path": path, "edits": changes, **more}


def _reading() -> list[Call]:
    calls: list[Call] = [("list_allowed_directories", {})]
    paths = [
        "a.txt", "b.txt", "crlf.txt", "empty.txt", "latin.bin", "wide-Ünïcode 名.txt", "link.txt",
        "dirlink/main.py", "dangling", "outside/passwd", "missing.txt", "src", "a.txt/below",
        "missing/below.txt", "", ".", "x" * 300, "a\0b", "wide-U\u0308nïcode 名.txt", "../../../../etc",
    ]  # fmt: skip
    calls += [("read_text_file", {"path": f"{ROOT}/{path}"}) for path in paths]
    calls += [("read_file", {"path": path}) for path in ("a.txt", "./src/../a.txt", "", "src")]
    calls += [
        ("read_text_file", {"path": path})
        for path in ("/etc/passwd", "/", "C:\\x.txt", "c:/x", " /srv/files/a.txt", '"/etc/x"')
    ]
    for arguments in (
        {"head": 2}, {"tail": 2}, {"head": 2, "tail": 2}, {"head": 0}, {"tail": 0}, {"head": 1000},
        {"tail": 1000}, {"head": -1}, {"tail": -1}, {"head": 1.5}, {"tail": 1.5},
        {"head": 0, "tail": 1},
    ):  # fmt: skip
        for name in ("a.txt", "b.txt", "crlf.txt", "empty.txt", "long.txt"):
            calls.append(("read_text_file", {"path": f"{ROOT}/{name}", **arguments}))
    calls.append(("read_text_file", {"path": f"{ROOT}/src", "head": 1}))
    calls.append(("read_text_file", {"path": f"{ROOT}/src", "tail": 1}))
    calls.append(("read_text_file", {"path": f"{ROOT}/missing", "tail": 1}))
    calls += [
        ("read_media_file", {"path": f"{ROOT}/{name}"})
        for name in (
            "dot.PNG", "tone.mp3", "latin.bin", "a.txt", "src", "none.png", ".hidden",
            "wide-Ünïcode 名.txt", "empty.txt",
        )
    ]  # fmt: skip
    some = ["a.txt", f"{ROOT}/missing", f"{ROOT}/src", "/etc/passwd", f"{ROOT}/b.txt"]
    calls += [("read_multiple_files", {"paths": paths}) for paths in (some, ["a.txt"], some * 2)]
    return calls


def _looking() -> list[Call]:
    calls: list[Call] = []
    for path in (ROOT, f"{ROOT}/src", f"{ROOT}/empty", f"{ROOT}/a.txt", f"{ROOT}/no", "", "src/"):
        calls.append(("list_directory", {"path": path}))
        calls.append(("list_directory_with_sizes", {"path": path}))
        calls.append(("list_directory_with_sizes", {"path": path, "sortBy": "size"}))
        calls.append(("get_file_info", {"path": path}))
        if path:
            calls.append(("directory_tree", {"path": path}))
    calls += [
        ("get_file_info", {"path": f"{ROOT}/{name}"})
        for name in ("link.txt", "dirlink", "dangling")
    ]
    for excluded in (
        ["*.py"],
        ["**/*.py"],
        ["test"],
        ["src/test"],
        ["node_modules", "*.txt"],
        [".*"],
    ):
        calls.append(("directory_tree", {"path": ROOT, "excludePatterns": excluded}))
        calls.append(
            ("search_files", {"path": ROOT, "pattern": "**/*", "excludePatterns": excluded})
        )
    patterns = [
        "*.txt", "**/*.py", "*", "**", "src/*", "src/**", "**/test", "**/test/**", "*.{py,js}",
        "**/*.{py,js}", "[ab].txt", "[!a].txt", "[^a].txt", "?.txt", ".*", "!*.txt", "#a", "",
        "**/x.js", "src/**/x.js", "./a.txt", "a.txt/", "/a.txt", "*(a|b).txt", "+(a|b).txt",
        "!(a|b).txt", "@(a|crlf).txt", "?(a).txt", "{a,b}.txt", "{a..c}.txt", "*!(x|t)", "src/!(test)", "A.TXT", "[[:alpha:]].txt",
        "\\a.txt", "[a", "{a", "**main**", "src//main.py", "src/**/*", "*/*/*", "wide*", "[a-c]*",
    ]  # fmt: skip
    calls += [("search_files", {"path": ROOT, "pattern": pattern}) for pattern in patterns]
    calls += [
        ("search_files", {"path": path, "pattern": "**/*.py"})
        for path in (f"{ROOT}/src", "src", f"{ROOT}/dirlink", f"{ROOT}/none", f"{ROOT}/a.txt")
    ]
    return calls


def _writing() -> list[Call]:
    main = f"{ROOT}/src/main.py"
    calls: list[Call] = [
        ("write_file", {"path": f"{ROOT}/new.txt", "content": "new\n"}),
        ("write_file", {"path": f"{ROOT}/new.txt", "content": "again 名 \U0001f600"}),
        ("read_text_file", {"path": f"{ROOT}/new.txt"}),
        ("write_file", {"path": f"{ROOT}/src", "content": "x"}),
        ("write_file", {"path": f"{ROOT}/no/such/dir.txt", "content": "x"}),
        ("write_file", {"path": "/etc/new", "content": "x"}),
        ("write_file", {"path": f"{ROOT}/link.txt", "content": "through the link\n"}),
        ("read_text_file", {"path": f"{ROOT}/a.txt"}),
        ("write_file", {"path": f"{ROOT}/dangling", "content": "x"}),
        ("write_file", {"path": f"{ROOT}/outside/x", "content": "x"}),
        ("write_file", {"path": "relative.txt", "content": ""}),
        ("get_file_info", {"path": f"{ROOT}/new.txt"}),
        ("create_directory", {"path": f"{ROOT}/made/deep/er"}),
        ("create_directory", {"path": f"{ROOT}/made"}),
        ("create_directory", {"path": f"{ROOT}/a.txt"}),
        ("create_directory", {"path": f"{ROOT}/a.txt/x"}),
        ("create_directory", {"path": "/etc/made"}),
        ("write_file", {"path": f"{ROOT}/made/deep/f.txt", "content": "deep"}),
        ("move_file", {"source": f"{ROOT}/made", "destination": f"{ROOT}/moved"}),
        ("list_directory", {"path": f"{ROOT}/moved/deep"}),
        ("move_file", {"source": f"{ROOT}/none", "destination": f"{ROOT}/x"}),
        ("move_file", {"source": f"{ROOT}/b.txt", "destination": f"{ROOT}/new.txt"}),
        ("move_file", {"source": f"{ROOT}/b.txt", "destination": f"{ROOT}/empty"}),
        ("move_file", {"source": f"{ROOT}/moved", "destination": f"{ROOT}/moved/into/itself"}),
        ("move_file", {"source": f"{ROOT}/moved", "destination": f"{ROOT}/moved/itself"}),
        ("move_file", {"source": f"{ROOT}/b.txt", "destination": f"{ROOT}/no/such/b.txt"}),
        ("move_file", {"source": f"{ROOT}/b.txt", "destination": "/etc/b.txt"}),
        ("move_file", {"source": f"{ROOT}/link.txt", "destination": f"{ROOT}/target.txt"}),
        ("list_directory", {"path": ROOT}),
        _edit(main, ("x = 1", "x = 2")),
        _edit(main, ("x = 2", "x = 3"), dryRun=True),
        ("read_text_file", {"path": main}),
        _edit(main, ("if x:\nprint('hi')", "if x > 1:\n    print('ho')\n    more()")),
        _edit(main, ("  if x > 1:\n      print('ho')", "  while x:\n        print('hu')")),
        _edit(main, ("nothing of the kind", "x")),
        _edit(main, ("x = 2", "x = 4"), ("nothing of the kind", "x")),
        _edit(main, ("return x", "return x"), dryRun=True),
        _edit(main, ("", "# first\n")),
        _edit(main, ("def main", "$& $1 def main"), ("print", "print")),
        _edit(f"{ROOT}/src/README.md", ("code", "more code")),
        _edit(f"{ROOT}/crlf.txt", ("second", "2nd\r\nand a half")),
        _edit(f"{ROOT}/empty.txt", ("", "now full")),
        _edit(f"{ROOT}/data.json", ("1,\n    2", "1,\n    2,\n    3"), ('"x"', '"y"')),
        _edit(f"{ROOT}/long.txt", ("line 5\n", ""), ("line 30\n", "l 30\n"), ("line 60\n", "end")),
        _edit(f"{ROOT}/long.txt", ("line 10\n", "a\nb\n"), ("line 19\n", "c\n"), ("line 29\n", "")),
        _edit(f"{ROOT}/none", ("a", "b")),
        _edit(f"{ROOT}/src", ("a", "b")),
        _edit("/etc/passwd", ("a", "b")),
        _edit(f"{ROOT}/long.txt"),
        ("read_text_file", {"path": main}),
        ("read_text_file", {"path": f"{ROOT}/crlf.txt"}),
        ("read_text_file", {"path": f"{ROOT}/long.txt"}),
        ("directory_tree", {"path": ROOT}),
    ]
    return calls


def _time() -> list[Call]:
    zones = [
        "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Asia/Kolkata", "Etc/GMT+5",
        "Australia/Lord_Howe", "Pacific/Chatham", "Mars/Olympus", "", "europe/berlin", "/etc/passwd",
        "../x", "EST5EDT", "x" * 200, "a\0b", "Ünï",
    ]  # fmt: skip
    calls: list[Call] = [("get_current_time", {"timezone": zone}) for zone in zones]
    for source, moment, target in (
        ("UTC", "12:00", "Europe/Berlin"),
        ("America/New_York", "23:59", "Asia/Tokyo"),
        ("Asia/Kathmandu", "00:00", "UTC"),
        ("UTC", "16:30", "Asia/Kathmandu"),
        ("Europe/London", "9:05", "Asia/Kolkata"),
        ("UTC", "25:00", "UTC"),
        ("UTC", "noon", "UTC"),
        ("UTC", "", "UTC"),
        ("UTC", "12:00:00", "UTC"),
        ("Mars/Olympus", "12:00", "UTC"),
        ("UTC", "12:00", "Mars/Olympus"),
        ("", "12:00", "UTC"),
        ("UTC", "12:00", ""),
        ("Pacific/Auckland", "12:00", "Pacific/Honolulu"),
    ):
        arguments = {"source_timezone": source, "time": moment, "target_timezone": target}
        calls.append(("convert_time", arguments))
    return calls


def _memory() -> list[Call]:
    def entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
        return {"name": name, "entityType": kind, "observations": list(observations)}

    def relation(source: str, target: str, kind: str) -> dict[str, Any]:
        return {"from": source, "to": target, "relationType": kind}

    ada, bob = entity("Ada", "person", "likes tea", "Größe 1,70 m"), entity("Bob", "person")
    works, knows = relation("Ada", "Acme", "works at"), relation("Bob", "Ada", "knows")
    return [
        ("read_graph", {}),
        ("create_entities", {"entities": []}),
        ("create_entities", {"entities": [ada, bob, bob]}),
        ("create_entities", {"entities": [ada, entity("Acme", "company", 'says "hi"\n')]}),
        ("create_relations", {"relations": [works, knows, knows]}),
        ("create_relations", {"relations": [works, relation("Ghost", "Nobody", "haunts")]}),
        ("read_graph", {}),
        ("add_observations", {"observations": [{"entityName": "Bob", "contents": ["a", "a"]}]}),
        ("add_observations", {"observations": [{"entityName": "Bob", "contents": ["a", "b"]}]}),
        (
            "add_observations",
            {
                "observations": [
                    {"entityName": "Bob", "contents": ["lost"]},
                    {"entityName": "Nobody", "contents": ["x"]},
                ]
            },
        ),
        ("add_observations", {"observations": []}),
        ("open_nodes", {"names": ["Bob"]}),
        ("open_nodes", {"names": ["Nobody"]}),
        ("open_nodes", {"names": []}),
        ("search_nodes", {"query": "TEA"}),
        ("search_nodes", {"query": "person"}),
        ("search_nodes", {"query": "größe"}),
        ("search_nodes", {"query": ""}),
        ("search_nodes", {"query": "nothing of the kind"}),
        ("delete_observations", {"deletions": [{"entityName": "Bob", "observations": ["a"]}]}),
        ("delete_observations", {"deletions": [{"entityName": "Nobody", "observations": ["a"]}]}),
        ("delete_relations", {"relations": [knows, relation("x", "y", "z")]}),
        ("read_graph", {}),
        ("delete_entities", {"entityNames": ["Acme", "Nobody"]}),
        ("read_graph", {}),
        ("create_entities", {"entities": [{**entity("Extra", "t"), "unknown": 1}]}),
        ("delete_entities", {"entityNames": ["Bob"]}),
        ("create_entities", {"entities": [entity("Bob", "robot")]}),
        ("read_graph", {}),
    ]


def _sqlite() -> list[Call]:
    def read(query: str) -> Call:
        return "read_query", {"query": query}

    def write(query: str) -> Call:
        return "write_query", {"query": query}

    def create(query: str) -> Call:
        return "create_table", {"query": query}

    def describe(name: str) -> Call:
        return "describe_table", {"table_name": name}

    return [
        ("list_tables", {}),
        create(
            "CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, age INT)"
        ),
        create("CREATE TABLE people (id INTEGER)"),
        create("create table if not exists people (id INTEGER)"),
        create("DROP TABLE people"),
        create("CREATE TABLE broken ("),
        ("list_tables", {}),
        describe("people"),
        describe("none"),
        describe("people); SELECT (1"),
        write("INSERT INTO people (name, age) VALUES ('Ada', 36), ('Bob', 7), ('Zoë', NULL)"),
        write("INSERT INTO people (name) VALUES (NULL)"),
        write("INSERT INTO nowhere VALUES (1)"),
        write("  update people set age = age + 1 where age is not null"),
        write("DELETE FROM people WHERE name = 'nobody'"),
        write("SELECT 1"),
        write("REPLACE INTO people (id, name) VALUES (1, 'replaced')"),
        write("WITH a AS (SELECT 1) SELECT * FROM a"),
        read("SELECT * FROM people ORDER BY id"),
        read("select count(*), sum(age), avg(age), max(name) from people"),
        read("SELECT name AS a, name AS a FROM people"),
        read("SELECT * FROM none"),
        read("SELECT nope FROM people"),
        read("SELECT"),
        read("DELETE FROM people"),
        read("  SELECT 1.5, 1e308 * 10, x'00ff', NULL, 'it''s', 9223372036854775807, -0.0"),
        read("SELECT 1; SELECT 2"),
        read("SELECT ?"),
        read("SELECT last_insert_rowid(), changes(), total_changes()"),
        read("SELECT name, type FROM sqlite_master ORDER BY rowid"),
        read("SELECT * FROM sqlite_sequence"),
        create(
            "CREATE TABLE pets (owner INT REFERENCES people(id), name TEXT UNIQUE, born REAL DEFAULT 1.5)"
        ),
        write("INSERT INTO pets VALUES (1, 'Rex', 2), (1, 'Tom', 3.25), (99, x'beef', 'text')"),
        write("INSERT INTO pets VALUES (1, 'Rex', 2)"),
        write("CREATE INDEX by_owner ON pets (owner)"),
        write(
            "CREATE VIEW owned AS SELECT p.name AS who, q.name AS pet FROM people p JOIN pets q ON q.owner = p.id"
        ),
        read("SELECT * FROM owned ORDER BY pet"),
        write(
            "CREATE TRIGGER gone AFTER DELETE ON people BEGIN DELETE FROM pets WHERE owner = old.id; END"
        ),
        write("DELETE FROM people WHERE id = 1"),
        read("SELECT * FROM pets"),
        write("ALTER TABLE people ADD COLUMN email TEXT DEFAULT 'none'"),
        describe("people"),
        read("SELECT * FROM people"),
        write("INSERT INTO people (name) VALUES ('after')"),
        read("SELECT max(id) FROM people"),
        write("BEGIN"),
        write("PRAGMA table_info(pets)"),
        write("EXPLAIN"),
        create("CREATE TABLE w (k TEXT PRIMARY KEY, v) WITHOUT ROWID"),
        write("INSERT INTO w VALUES ('b', 1), ('a', 2)"),
        read("SELECT * FROM w"),
        create("CREATE TABLE g (a INT, b INT GENERATED ALWAYS AS (a * 2) STORED, c AS (a + 1))"),
        write("INSERT INTO g (a) VALUES (1), (2)"),
        read("SELECT * FROM g"),
        write("DROP TABLE w"),
        ("list_tables", {}),
        read("SELECT date('2024-02-30', '+1 day'), strftime('%Y', '2024-01-01')"),
        read("WITH a AS (SELECT 1) SELECT * FROM a"),
        read("SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]'), printf('%05.1f', 3.14159)"),
        read("SELECT CAST(x'ff' AS TEXT)"),
        ("append_insight", {"insight": "People like tea."}),
        ("append_insight", {"insight": ""}),
        read(""),
        write(""),
    ]


CALLS: Mapping[str, list[Call]] = {
    "filesystem": [*_reading(), *_looking(), *_writing()],
    "time": _time(),
    "memory": _memory(),
    "sqlite": _sqlite(),
}
