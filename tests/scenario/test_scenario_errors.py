"""Every message about what a scenario says: where, what was found, what is allowed, what next."""

from __future__ import annotations

import pytest

from agentworld_sim.controls import control_kinds
from agentworld_sim.errors import ScenarioError
from agentworld_sim.scenario import Scenario, control_profiles

MINIMAL = "name: x\ndomains: [terminal]\n"
KEYS = (
    "$schema, access, answers, clock, controls, description, domains, fiction, files, files_from, goals, "
    "instruction, limits, machine, model, name, operations, pages, reference, routes, seed, sites, tables, tools"
)
ROOT_KEYS = f"Known keys: {KEYS}."


def message(text: str, source: str = "s.yaml") -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text, source=source)
    return str(caught.value)


ONE_LINE = [
    # the model
    (
        "model: {url: 'localhost:8000'}",
        ("3:14: model.url: found 'localhost:8000'; allowed: a base URL, for example "
        "http://127.0.0.1:8000/v1."),
    ),
    # keys
    ("sed: 1", f"3:1: sed: unknown key. Did you mean 'seed'? {ROOT_KEYS}"),
    ("qqq: 1", f"3:1: qqq: unknown key. Remove it or correct its name. {ROOT_KEYS}"),
    (
        "files: {/x: {text: a, mod: 1}}",
        ("3:23: files./x.mod: unknown key. Did you mean 'mode'? "
        "Known keys: group, mode, mtime, owner, text."),
    ),
    (
        "machine: {users: [{name: a, uid: 5, id: 4}]}",
        ("3:37: machine.users[0].id: unknown key. Did you mean 'uid'? "
        "Known keys: gecos, gid, home, name, shell, uid."),
    ),
    (
        "goals: [{command: a, exit: 1}]",
        ("3:22: goals[0].exit: unknown key. Did you mean 'exit_code'? "
        "Known keys: command, exit_code, files, stdout_contains, stdout_equals."),
    ),
    (
        "limits: {file: 1}",
        ("3:10: limits.file: unknown key. Did you mean 'files'? Known keys: commands, file_bytes, "
        "files, loop_iterations, memory_bytes, output_bytes, total_bytes, wall_seconds."),
    ),
    (
        "name: y",
        "3:1: name: the key is repeated; it was first on line 1. Keep one of the two.",
    ),
    (
        "machine: {users: [{name: a}]}",
        "3:19: machine.users[0].uid: required, but not there. Add `uid:`.",
    ),
    # types
    ("seed: -1", "3:7: seed: found -1; allowed: 0 or more."),
    ("seed: '1'", "3:7: seed: found '1'; allowed: a whole number."),
    ("seed: 1.5", "3:7: seed: found 1.5; allowed: a whole number."),
    ("seed: true", "3:7: seed: found true; allowed: a whole number."),
    ("instruction: 5", "3:14: instruction: found 5; allowed: text. Put it in double quotes."),
    ("instruction:", "3:13: instruction: found nothing; allowed: text. Put it in double quotes."),
    (
        "machine: {env: {PORT: 8080}}",
        "3:23: machine.env.PORT: found 8080; allowed: text. Put it in double quotes.",
    ),
    (
        "machine: {env: {A-B: x}}",
        ("3:17: machine.env.A-B: found 'A-B'; allowed: letters, digits and underscores, not "
        "starting with a digit."),
    ),
    (
        'machine: {env: {A: "\\0"}}',
        "3:20: machine.env.A: found '\\x00'; allowed: text without NUL characters.",
    ),
    ("machine: []", "3:10: machine: found an empty list; allowed: a mapping of keys to values."),
    ("tools: {}", "3:8: tools: found an empty mapping; allowed: a list."),
    ("limits: {files: 0}", "3:17: limits.files: found 0; allowed: 1 or more."),
    ("limits: {wall_seconds: 0}", "3:24: limits.wall_seconds: found 0; allowed: more than 0.0."),
    (
        "limits: {wall_seconds: 1e9}",
        "3:24: limits.wall_seconds: found 1000000000.0; allowed: 86400.0 or less.",
    ),
    (
        "access: {a: rael}",
        ("3:13: access.a: found 'rael'; allowed: 'simulate', 'real' or 'refuse'. "
        "Did you mean 'real'?"),
    ),
    (
        "clock: 2026-03-02T09:00:00",
        ("3:8: clock: found '2026-03-02T09:00:00'; allowed: an ISO 8601 instant in UTC, from 1970 "
        "on, such as 2026-03-02T09:00:00Z."),
    ),
    (
        "machine: {hostname: a_b}",
        ("3:21: machine.hostname: found 'a_b'; allowed: a host name of letters, digits and "
        "hyphens, such as 'web-01'."),
    ),
    (
        "machine: {user: Dana}",
        ("3:17: machine.user: found 'Dana'; allowed: the name of a user or group, such as "
        "'www-data'."),
    ),
    ("reference: 1e999", "3:12: reference: the number is too large. Write a smaller one."),
    # tables
    (
        "tables: {users: {recrods: []}}",
        ("3:18: tables.users.recrods: unknown key. Did you mean 'records'? Known keys: fields, "
        "generate, generated_key, key, parents, records, required, scope."),
    ),
    (
        "tables: {'a b': {}}",
        ("3:10: tables.a b: found 'a b'; allowed: a table's name of letters, digits and _ - ., such "
        "as 'issues', or '*' for all tables."),
    ),
    (
        "tables: {issues: {key: number, records: [{number: 1}, {number: 1}]}}",
        ("3:55: tables.issues.records[1]: number = 1 names record 0 as well. Give each its own "
        "key."),
    ),
    (
        "tables: {issues: {records: [{id: a}, {id: b}, {id: a}]}}",
        "3:47: tables.issues.records[2]: id = 'a' names record 0 as well. Give each its own key.",
    ),
    (
        "tables: {issues: {fields: {title: {type: string}}, records: [{titel: a}]}}",
        ("3:70: tables.issues.records[0].titel: no such field. Did you mean 'title'? The fields "
        "are: title."),
    ),
    (
        "tables: {issues: {fields: {title: {type: string}}, records: [{title: 5}]}}",
        "3:70: tables.issues.records[0].title: 5 is not of type 'string'.",
    ),
    (
        "tables: {issues: {required: [a], records: [{}]}}",
        ("3:44: tables.issues.records[0]: it has no 'a', which `required` lists. Add it."),
    ),
    (
        "tables: {issues: {fields: {title: {type: strng}}}}",
        ("3:35: tables.issues.fields.title: found a mapping with the keys type; allowed: a JSON "
        "Schema, draft 2020-12; 'strng' is not valid under any of the given schemas (at type)."),
    ),
    ("tables: {issues: {key: []}}",
     "3:24: tables.issues.key: found an empty list; allowed: at least 1 of them."),
    ("tables: {issues: {generate: -1}}",
     "3:29: tables.issues.generate: found -1; allowed: 0 or more."),
    # operations
    (
        "operations: {x: {does: craete, table: issues}}",
        ("3:24: operations.x.does: found 'craete'; allowed: 'create', 'read', 'list', 'search', "
        "'count', 'update', 'upsert' or 'delete'. Did you mean 'create'?"),
    ),
    (
        "operations: {x: {does: create}}",
        "3:17: operations.x.table: required, but not there. Add `table:`.",
    ),
    (
        "operations: {x: {does: list, table: issues, arguments: {a: limt}}}",
        ("3:60: operations.x.arguments.a.role: found 'limt'; allowed: 'key', 'scope', 'field', "
        "'text', 'limit', 'offset', 'page', 'cursor', 'sort', 'direction', 'projection', "
        "'records', 'ignored' or 'unknown'. Did you mean 'limit'?"),
    ),
    (
        "operations: {x: {does: list, table: issues, arguments: {a: {role: limit, field: b}}}}",
        ("3:81: operations.x.arguments.a.field: an argument of the role 'limit' has no field. "
        "Remove it."),
    ),
    (
        "operations: {x: {does: list, table: issues, arguments: {a: {role: key, feild: b}}}}",
        ("3:72: operations.x.arguments.a.feild: unknown key. Did you mean 'field'? Known keys: "
        "compare, field, fields, first, role, values."),
    ),
    (
        "operations: {x: {does: read, table: issues, output: {recrod: a}}}",
        ("3:54: operations.x.output.recrod: unknown key. Did you mean 'record'? Known keys: "
        "arguments, count, cursor, fixed, message, more, record, records, total, values."),
    ),
    (
        "operations: {x: {does: read, table: issues, changes: {a: a + 1}}}",
        ("3:54: operations.x.changes: only an update changes fields by expressions, and this does "
        "'read'."),
    ),
    (
        "operations: {x: {does: update, table: issues, changes: {a: 'a +'}}}",
        ("3:60: operations.x.changes.a: found 'a +'; allowed: an arithmetic expression; 'a +' is "
        "no expression: invalid syntax (<unknown>, line 1)."),
    ),
    # files
    ("files: {etc/x: a}", ("3:9: files.etc/x: found 'etc/x'; allowed: an absolute path. Write "
     "'/etc/x'.")),
    (
        "files: {/a/../b/: a}",
        ("3:9: files./a/../b/: found '/a/../b/'; allowed: a path without '.', '..', '//' or a "
        "slash at the end. Write '/b'."),
    ),
    (
        'files: {"/a\\0": a}',
        "3:9: files./a\0: found '/a\\x00'; allowed: a path without NUL characters.",
    ),
    (
        f"files: {{/{'a' * 256}: a}}",
        (f"3:9: files./{'a' * 256}: found '/{'a' * 55}…'; allowed: at most 4,095 bytes in all and "
        "255 between two slashes, as on Linux."),
    ),
    (
        "files: {/x: {txt: a}}",
        ("3:13: files./x: found a mapping with the keys txt; allowed: the content as text, or a "
        "mapping with exactly one of the keys text, base64, from, directory, link. "
        "Did you mean 'text'?"),
    ),
    (
        "files: {/x: 5}",
        ("3:13: files./x: found 5; allowed: the content as text, or a mapping with exactly one of "
        "the keys text, base64, from, directory, link."),
    ),
    (
        "files: {/x: {text: a, mode: 644}}",
        ("3:29: files./x.mode: found 644; allowed: permission bits as octal digits in quotes, such "
        'as "0644" or "0755".'),
    ),
    (
        "files: {/x: {base64: '!'}}",
        "3:22: files./x.base64: found '!'; allowed: base64 text. `base64 -w0 FILE` prints it.",
    ),
    ("files: {/x: {directory: false}}", "3:25: files./x.directory: found false; allowed: true."),
    (
        "files: {/x: {link: ''}}",
        "3:20: files./x.link: found ''; allowed: the path that the link points to.",
    ),
    (
        "files: {/: a}",
        "3:12: files./: the root is a directory. Use {directory: true}.",
    ),
    (
        "files: {/a: x, /a/b/c: y}",
        "3:24: files./a/b/c: '/a' is a file, so nothing can be below it. Move one of the two.",
    ),
    (
        "files: {/a: {link: b}, /a/b: y}",
        "3:30: files./a/b: '/a' is a link, so nothing can be below it. Move one of the two.",
    ),
    (
        "files: {/x: {from: ../secret}}",
        ("3:20: files./x.from: found '../secret'; allowed: a path relative to the scenario file "
        "that stays in its folder. Copy what the scenario needs into that folder."),
    ),
    (
        "files: {/x: {from: a}}",
        ("3:20: files./x.from: the scenario is a text without a folder, so there is nothing to "
        "copy from. Save it as a file, or give `base_dir`."),
    ),
    # machine
    (
        "machine: {users: [{name: root, uid: 5}]}",
        "3:26: machine.users[0].name: the user 'root' is there already.",
    ),
    (
        "machine: {users: [{name: a, uid: 5}, {name: b, uid: 5}]}",
        "3:53: machine.users[1].uid: the uid 5 belongs to 'a'. Use another number.",
    ),
    # tools, access, controls
    (
        "tools: [5]",
        ("3:9: tools[0]: found 5; allowed: the name of a toolkit, or a tool: {name, description, "
        "input_schema, …}."),
    ),
    (
        "tools: [{name: a b}]",
        ("3:16: tools[0].name: found 'a b'; allowed: up to 128 letters, digits and the signs "
        "_ - . : /."),
    ),
    ("tools: [a, a]", "3:12: tools[1]: 'a' is listed twice. Remove one of the two."),
    (
        "tools: [{name: a, domain: mcp}]",
        ("3:27: tools[0].domain: found 'mcp'; allowed: terminal. Add it to `domains`, or use one "
        "of those."),
    ),
    (
        "tools: [{name: a, input_schema: {type: objekt}}]",
        ("3:33: tools[0].input_schema: found a mapping with the keys type; allowed: a JSON Schema, "
        "draft 2020-12; 'objekt' is not valid under any of the given schemas (at type)."),
    ),
    (
        "access: {'git_*': real}",
        ("3:19: access.git_*: found 'real' for a pattern; allowed: simulate, refuse. Real tools "
        "are named one by one, in full."),
    ),
    (
        "controls: [{kind: falt, name: a}]",
        ("3:19: controls[0].kind: there is no kind of control 'falt'. Did you mean 'fault'? There are: "
        f"{', '.join(control_kinds.names())}. If it is not one of these, install the package that it comes with: it "
        "declares an entry point 'falt' in the group 'agentworld.controls'. Profiles: "
        f"{', '.join(control_profiles())}."),
    ),
    (
        "controls: [{kind: fault, tool: bash, error: 'no'}]",
        "3:12: controls[0].name: required, but not there. Add `name:`.",
    ),
    (
        "controls: [{kind: fault, name: a, tool: bash, tims: 2}]",
        ("3:53: controls[0].tims: unknown key. Did you mean 'times'? Known keys: arguments, domain, error, "
        "every, first_turn, kind, last_turn, latency_us, name, nth, probability, state, times, tool."),
    ),
    (
        "controls: [{kind: fault, name: a, tool: bash, times: two}]",
        "3:54: controls[0].times: found 'two'; allowed: a whole number.",
    ),
    (
        "controls: [{kind: fault, name: a, tool: bash, when: now}]",
        ("3:53: controls[0].when: a Python function belongs to one process, and a scenario is data. Give "
        "a control that has one to World.create(controls=[…]); without it, remove `when`."),
    ),
    (
        "controls: [{kind: fault, name: a, tool: x}, {kind: fault, name: a, tool: y}]",
        "3:65: controls[1].name: 'a' is the name of another control. Give each its own.",
    ),
    # goals
    (
        "goals: [{fil: /x}]",
        ("3:9: goals[0]: found a mapping with the keys fil; allowed: a mapping with one of the keys "
        "`file`, `command`, `record`, `unchanged`, `answer`, `request`, `page`, `nothing_else`. Did you mean 'file'?"),
    ),
    (
        "goals: [{record: orders}]",
        ("3:9: goals[0]: found none of the conditions added, changed, deleted; allowed: exactly one. "
        "Write one goal for each condition."),
    ),
    (
        "goals: [{record: orders, added: {id: 1}, deleted: {id: 2}}]",
        ("3:9: goals[0]: found added and deleted of the conditions added, changed, deleted; allowed: "
        "exactly one. Write one goal for each condition."),
    ),
    (
        "goals: [{record: orders, changed: {status: sent}}]",
        ("3:9: goals[0]: `where` and `changed` belong together: `where` names records by their "
        "fields at the start, and `changed` says which fields they have now."),
    ),
    (
        "goals: [{record: orders, aded: {id: 1}}]",
        ("3:26: goals[0].aded: unknown key. Did you mean 'added'? Known keys: added, changed, "
        "deleted, record, where."),
    ),
    (
        "goals: [{record: orders, added: {}}]",
        "3:33: goals[0].added: found an empty mapping; allowed: at least 1 of them.",
    ),
    (
        "goals: [{unchanged: /srv, besides: {id: 1}}]",
        "3:36: goals[0].besides: found a mapping with the keys id; allowed: a list.",
    ),
    (
        "goals: [{unchanged: orders, besides: [/srv]}]",
        "3:38: goals[0].besides: found a list; allowed: a mapping of keys to values.",
    ),
    (
        "goals: [{unchanged: no table}]",
        ("3:21: goals[0].unchanged: found 'no table'; allowed: a table's name of letters, digits and "
        "_ - ., such as 'issues'."),
    ),
    (
        "goals: [{file: /x}]",
        ("3:9: goals[0]: found none of the conditions exists, equals, contains, matches, "
        "unchanged; allowed: exactly one. Write one goal for each condition."),
    ),
    (
        "goals: [{file: /x, exists: true, equals: a}]",
        ("3:9: goals[0]: found exists and equals of the conditions exists, equals, contains, "
        "matches, unchanged; allowed: exactly one. Write one goal for each condition."),
    ),
    ("goals: [{file: /x, exists: yes}]", ("3:28: goals[0].exists: found 'yes'; allowed: true or "
     "false.")),
    (
        "goals: [{file: /x, matches: '('}]",
        ("3:29: goals[0].matches: found '('; allowed: a Python regular expression (missing ), "
        "unterminated subpattern at position 0)."),
    ),
    ("goals: [{command: ''}]", ("3:19: goals[0].command: found ''; allowed: text that is not "
     "empty.")),
    (
        "goals: [{command: a, exit_code: 256}]",
        "3:33: goals[0].exit_code: found 256; allowed: 255 or less.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ONE_LINE, ids=[line for line, _ in ONE_LINE])
def test_one_problem_is_one_line_with_its_place(line: str, expected: str) -> None:
    assert message(MINIMAL + line + "\n") == f"s.yaml:{expected}"


WHOLE = [
    ("", "1:1: the file is empty. Start with `name:` and `domains:`."),
    ("# only a comment\n", "1:1: the file is empty. Start with `name:` and `domains:`."),
    ("- a", "1:1: found a list; allowed: a mapping of keys to values."),
    ("domains: [os]", "1:1: name: required, but not there. Add `name:`."),
    ("name: x\ndomains: []", ("2:10: domains: found an empty list; allowed: at least one of mcp, "
     "search, terminal, swe, web, android, os.")),
    ("name: x\ndomains: [os, os]", ("2:10: domains: found a list; allowed: each domain once; os is "
     "repeated.")),
    ("name: x\ndomains: [terminl]", ("2:11: domains[0]: found 'terminl'; allowed: mcp, search, "
     "terminal, swe, web, android, os. Did you mean 'terminal'?")),
    ("name: X y\ndomains: [os]", ("1:7: name: found 'X y'; allowed: lower-case letters, digits and "
     "single hyphens, such as 'failing-test'.")),
    ("name: x\ndomains: [os, web]\ntools: [{name: a}]", ("3:9: tools[0].domain: required, because "
     "the scenario has several domains. Add `domain:` with one of os, web.")),
    ("name: [x\nb: 1", ("2:2: not valid YAML: while parsing a flow sequence, did not find expected "
     "',' or ']'.")),
    ("name: *x", "1:7: not valid YAML: found undefined alias."),
    ("name: a\n---\nname: b", ("2:1: not valid YAML: expected a single document in the stream, but "
     "found another document.")),
    ("name: x\ny: a\x01", ("2:5: not valid YAML: the character U+0001 is not allowed. Write it as "
     "an escape in double quotes, or the content as base64.")),
    ("? [a]\n: b", "1:3: a key must be text, not a list or a mapping."),
    ("name: !!python/name:os.system x", ("1:7: the tag 'tag:yaml.org,2002:python/name:os.system' is "
     "not allowed. Write plain text, numbers, lists and mappings; binary content goes under "
     "`base64`.")),
    ("name: !!python/object/apply:os.system [x]", ("1:7: the tag "
     "'tag:yaml.org,2002:python/object/apply:os.system' is not allowed. Write plain text, "
     "numbers, lists and mappings; binary content goes under `base64`.")),
    ("seed: " + "1" * 5000, f"1:7: not a number: '{'1' * 40}'."),
    ("a: " + "[" * 200 + "]" * 200, "1:104: nested more than 100 deep. Flatten it."),
    ("a: &a [*a]", "1:4: nested more than 100 deep. Flatten it."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    WHOLE,
    ids=[text[:30].encode("unicode_escape").decode() for text, _ in WHOLE],
)
def test_a_file_that_is_wrong_as_a_whole_says_so(text: str, expected: str) -> None:
    assert message(text) == f"s.yaml:{expected}"


def test_several_problems_are_listed_in_the_order_of_the_file() -> None:
    assert message("name: X\ndomans: [os]\nseed: a\n") == (
        "s.yaml: 4 problems:\n"
        "  s.yaml:1:1: domains: required, but not there. Add `domains:`.\n"
        "  s.yaml:1:7: name: found 'X'; allowed: lower-case letters, digits and single hyphens, "
        "such as 'failing-test'.\n"
        f"  s.yaml:2:1: domans: unknown key. Did you mean 'domains'? {ROOT_KEYS}\n"
        "  s.yaml:3:7: seed: found 'a'; allowed: a whole number."
    )


def test_no_more_than_ten_problems_are_shown() -> None:
    text = message(MINIMAL + "".join(f"bad{n}: 1\n" for n in range(13)))
    lines = text.splitlines()
    assert lines[0] == "s.yaml: 13 problems:"
    assert len(lines) == 12
    assert lines[-1] == "  … and 3 more."


def test_json_problems_have_lines_too() -> None:
    assert message('{\n\t"name": "x",\n\t"domains": ["os"],\n\t"sed": 1\n}', "s.json") == (
        f"s.json:4:2: sed: unknown key. Did you mean 'seed'? {ROOT_KEYS}"
    )
    assert message('{"name": "x",\n "domains": [}', "s.json") == (
        "s.json:2:14: not valid JSON: Expecting value."
    )
    assert message('{"name": "x", "domains": ["os"]} x', "s.json") == (
        "s.json:1:34: not valid JSON: Extra data."
    )
    assert message('{"name": NaN}', "s.json") == "s.json:1:10: not valid JSON: NaN is not JSON."


def test_json_repeats_and_broken_surrogates_are_found() -> None:
    assert message('{"name": "x", "domains": ["os"], "name": "x",\n"instruction": "\\ud800"}') == (
        "s.yaml: 2 problems:\n"
        "  s.yaml:1:34: name: the key is repeated; it was first on line 1. Keep one of the two.\n"
        "  s.yaml:2:16: instruction: half of a surrogate pair, which no UTF-8 text holds. Write "
        "both halves, or the content as base64."
    )


def test_a_few_aliases_cannot_stand_for_billions_of_values() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert message("\n".join(lines)).endswith(
        ": more than 200,000 values, aliases included. Move files out of the scenario with `from` "
        "or `files_from`."
    )
