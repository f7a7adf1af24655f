"""Scenario files: what they mean, and that they are the same world everywhere."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from agentworld_sim.engines.shell.machine import Machine, ShellLimits, User
from agentworld_sim.errors import ScenarioError
from agentworld_sim.ingest.folders import SkippedFile
from agentworld_sim.scenario import (
    CommandGoal,
    FileGoal,
    Limits,
    Scenario,
    TextFile,
    ToolObject,
    scenario_schema,
    shipped_scenarios,
)
from agentworld_sim.scenario._document import read_document
from agentworld_sim.types.files import EntryKind, FileEntry, MemoryBlobs
from agentworld_sim.types.tools import ToolSpec

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "docs" / "snippets" / "scenarios"
CLOCK_US = 1_772_442_000_000_000
MINIMAL = "name: x\ndomains: [terminal]\n"


def test_a_minimal_scenario_has_sane_defaults() -> None:
    scenario = Scenario.parse(MINIMAL)
    assert scenario == Scenario.parse('{"name": "x", "domains": ["terminal"]}')
    assert scenario.clock_us == CLOCK_US
    assert (scenario.seed, scenario.instruction, scenario.reference) == (0, "", None)
    assert scenario.limits == Limits()
    assert scenario.machine.to_machine() == Machine()
    assert list(scenario.initial_tree(MemoryBlobs())) == ["/", "/root"]


def test_every_form_of_file_becomes_an_entry(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o711)
    blobs = MemoryBlobs()
    scenario = Scenario.parse(
        MINIMAL
        + """\
machine: {user: dana, workdir: /srv/app}
files:
  /etc/plain: é
  /etc/full: {text: a, mode: 0600, mtime: 2026-01-01T00:00:00Z, owner: www-data, group: adm}
  /etc/none: {text: b, mode: "0000"}
  /etc/bytes: {base64: "AAEC\\n/w=="}
  /usr/local/bin/tool: {from: tool}
  /srv/app/dir: {directory: true, mode: "0700"}
  /home/dana/link: {link: ../nowhere}
""",
        base_dir=tmp_path,
    )
    tree = scenario.initial_tree(blobs)
    mtime = 1_767_225_600_000_000

    def file(
        mode: int, data: bytes, mtime: int = CLOCK_US, owner: str = "root", group: str = "root"
    ) -> FileEntry:
        return FileEntry("file", mode, mtime, blobs.put(data), len(data), owner, group)

    def danas(kind: EntryKind, mode: int, target: str = "") -> FileEntry:
        return FileEntry(kind, mode, CLOCK_US, target, owner="dana", group="dana")

    parents = ("/", "/etc", "/home", "/home/dana", "/srv", "/usr", "/usr/local", "/usr/local/bin")
    assert dict(tree) == {
        **dict.fromkeys(parents, FileEntry("directory", 0o755, CLOCK_US)),
        "/etc/plain": file(0o644, "é".encode()),
        "/etc/full": file(0o600, b"a", mtime, owner="www-data", group="adm"),
        "/etc/none": file(0, b"b"),
        "/etc/bytes": file(0o644, b"\0\1\2\xff"),
        "/usr/local/bin/tool": file(0o755, b"#!/bin/sh\n"),
        "/srv/app": danas("directory", 0o755),
        "/srv/app/dir": danas("directory", 0o700),
        "/home/dana/link": danas("symlink", 0o777, "../nowhere"),
    }


def test_copied_folders_are_the_same_world_on_every_machine(tmp_path: Path) -> None:
    texts: list[str] = []
    for number, mode in enumerate((0o600, 0o664)):
        base = tmp_path / str(number)
        (base / "app/sub").mkdir(parents=True)
        (base / "app/sub/x").write_text("x")
        (base / "app/sub/x").chmod(mode)
        (base / "app/link").symlink_to("sub/x")
        (base / "s.yaml").write_text(
            MINIMAL + "machine: {workdir: /srv/app}\nfiles_from: app\n"
            "files: {/opt/app: {from: app, owner: dana}, /srv/app/sub/y: y}\n"
        )
        texts.append(Scenario.load(base / "s.yaml").canonical())
    assert texts[0] == texts[1]
    files = json.loads(texts[0])["files"]
    assert files["/srv/app/sub/x"][:3] == ["file", 0o644, CLOCK_US]
    assert files["/srv/app/link"][:4] == ["symlink", 0o777, CLOCK_US, "sub/x"]
    assert files["/opt/app/sub/x"][5:] == ["dana", "dana"]
    assert "/srv/app/sub/y" in files


def test_what_a_copied_folder_leaves_out_is_reported(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/.env").write_text("TOKEN=1")
    scenario = Scenario.parse(MINIMAL + "files_from: app\n", base_dir=tmp_path)
    assert scenario.initial_files(MemoryBlobs()).skipped == (
        SkippedFile(".env", "looks like a secret (include_secrets lets it in)"),
    )


def test_canonical_text_changes_with_any_content_and_not_with_the_way_it_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "x").write_text("hello")
    plain = Scenario.parse(MINIMAL + "files: {/x: hello}\n")
    copied = Scenario.parse(
        '{"$schema": "s", "files": {"/x": {"from": "x"}}, "domains": ["terminal"], "name": "x"}',
        base_dir=tmp_path,
    )
    assert plain.canonical() == copied.canonical()
    assert "\n" not in plain.canonical()
    for more in ("files: {/x: hellO}\n", "files: {/x: hello}\nreference: 1\n"):
        assert Scenario.parse(MINIMAL + more).canonical() != plain.canonical()


def test_the_machine_converts_to_the_engines_value() -> None:
    scenario = Scenario.parse(
        MINIMAL
        + """\
machine:
  hostname: web-01
  user: dana
  workdir: /srv/app
  cpus: 8
  memory_kib: 1000
  disk_kib: 2000
  env: {B: "2", A: "1"}
  users: [{name: lee, uid: 1000, shell: /bin/sh, gecos: Lee}]
"""
    )
    assert scenario.machine.to_machine() == Machine(
        hostname="web-01",
        user="dana",
        home="/home/dana",
        workdir="/srv/app",
        cpus=8,
        memory_kib=1000,
        disk_kib=2000,
        extra_users=(
            User("lee", 1000, 1000, "/home/lee", "/bin/sh", "Lee"),
            User("dana", 1001, 1001, "/home/dana", "/bin/bash"),
        ),
        env=(("A", "1"), ("B", "2")),
    )


def test_the_home_of_a_listed_user_is_the_agents_home() -> None:
    machine = Scenario.parse(
        MINIMAL + "machine: {user: dana, users: [{name: dana, uid: 7, home: /opt/dana}]}\n"
    ).machine
    assert machine.workdir_path == "/opt/dana"
    assert machine.to_machine().extra_users == (User("dana", 7, 7, "/opt/dana", "/bin/bash"),)


def test_limits_convert_to_the_engines_value() -> None:
    limits = Scenario.parse(MINIMAL + "limits: {wall_seconds: 5, commands: 9}\n").limits
    assert limits.to_shell_limits() == ShellLimits(
        wall_seconds=5.0,
        commands=9,
        loop_iterations=30_000_000,
        memory_bytes=limits.memory_bytes,
        output_bytes=limits.output_bytes,
    )


def test_tools_goals_and_access_are_values() -> None:
    scenario = Scenario.parse(
        """\
name: x
domains: [terminal, mcp]
tools:
  - claude-code
  - name: lookup
    description: Finds.
    input_schema: {type: object, properties: {q: {type: string}}}
    domain: mcp
    access: refuse
access: {"git*": refuse, fetch: real}
goals:
  - {file: /x, exists: false}
  - {command: make test, stdout_contains: ok}
"""
    )
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tool = ToolObject(
        name="lookup", description="Finds.", input_schema=schema, domain="mcp", access="refuse"
    )
    assert scenario.tools == ("claude-code", tool)
    assert tool.to_tool_spec() == ToolSpec(
        name="lookup", description="Finds.", input_schema=schema, domain="mcp", access="refuse"
    )
    assert scenario.access == {"git*": "refuse", "fetch": "real"}
    assert scenario.goals == (
        FileGoal(file="/x", exists=False),
        CommandGoal(command="make test", exit_code=0, stdout_contains="ok"),
    )


def test_the_reference_is_never_in_a_representation() -> None:
    scenario = Scenario.parse(MINIMAL + "reference: {answer: forty-two}\n")
    assert scenario.reference == {"answer": "forty-two"}
    assert "forty-two" not in repr(scenario) + str(scenario)


def test_a_scenario_is_frozen() -> None:
    scenario = Scenario.parse(MINIMAL)
    with pytest.raises(ValueError, match="frozen"):
        scenario.seed = 1  # pyright: ignore[reportAttributeAccessIssue] - what is being tested


def test_scalars_are_read_as_json_would() -> None:
    scenario = Scenario.parse(
        MINIMAL + "reference: [no, 0644, 2026-01-01, 12:30:00, 1e3, 1.5, -2, ~, true, 0x1f]\n"
    )
    assert scenario.reference == [
        "no", "0644", "2026-01-01", "12:30:00", 1000.0, 1.5, -2, None, True, "0x1f",
    ]  # fmt: skip


def test_json_with_tabs_and_surrogate_pairs_is_read() -> None:
    text = '{\n\t"name": "x",\n\t"domains":\t["terminal"],\n\t"instruction": "\\ud83d\\ude00"\n}'
    assert Scenario.parse(text).instruction == "\U0001f600"


def test_a_flow_mapping_that_is_no_json_is_read_as_yaml() -> None:
    assert Scenario.parse("{name: x, domains: [terminal]}").name == "x"


def test_aliases_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(
        b"\xef\xbb\xbf" + MINIMAL.encode() + b"files: {/a: &text hi, /b: *text}\n"
    )
    files = Scenario.load(tmp_path / "s.yaml").files
    assert files == {"/a": TextFile(text="hi"), "/b": TextFile(text="hi")}


def test_a_folder_with_a_scenario_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "scenario.yml").write_text(MINIMAL)
    scenario = Scenario.load(tmp_path)
    assert (scenario.source, scenario.base_dir) == (str(tmp_path / "scenario.yml"), tmp_path)


def test_a_folder_of_yours_becomes_a_scenario(tmp_path: Path) -> None:
    folder = tmp_path / "My Project"
    folder.mkdir()
    (folder / "main.py").write_text("print()\n")
    scenario = Scenario.from_directory(folder, instruction="Run it.")
    assert (scenario.name, scenario.instruction) == ("my-project", "Run it.")
    assert scenario.machine.to_machine().workdir == "/srv/app"
    assert list(scenario.initial_tree(MemoryBlobs())) == [
        "/", "/srv", "/srv/app", "/srv/app/main.py",
    ]  # fmt: skip


def test_a_folder_of_yours_keeps_its_times_before_the_worlds_first_moment(tmp_path: Path) -> None:
    for name, seconds in (("old", 1_600_000_000.5), ("young", 4_000_000_000)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (seconds, seconds))
    os.utime(tmp_path, (1_500_000_000, 1_500_000_000))
    scenario = Scenario.from_directory(tmp_path, name="x")
    tree = scenario.initial_tree(MemoryBlobs())
    assert tree["/srv/app/old"].mtime_us == 1_600_000_000_500_000
    assert tree["/srv/app"].mtime_us == 1_500_000_000_000_000
    assert tree["/srv/app/young"].mtime_us == scenario.clock_us
    # Beside a scenario file they are those of a checkout, which each machine makes anew.
    (tmp_path / "s.yaml").write_text(MINIMAL + "files_from: .\n")
    checkout = Scenario.load(tmp_path / "s.yaml")
    assert checkout.initial_tree(MemoryBlobs())["/root/old"].mtime_us == checkout.clock_us


def test_a_file_wins_over_a_shipped_scenario_and_a_bare_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing-test").mkdir()
    assert Scenario.load("failing-test").name == "failing-test"
    (tmp_path / "nginx-logs").write_text(MINIMAL)
    assert Scenario.load("nginx-logs").name == "x"


def test_importing_the_library_does_not_import_pydantic_or_yaml() -> None:
    code = "import agentworld_sim, sys; print({'pydantic', 'yaml', 'pathspec'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_schema_in_the_docs_is_up_to_date() -> None:
    written = (ROOT / "docs/reference/scenario.schema.json").read_text()
    expected = json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"
    assert written == expected, (
        "write json.dumps(scenario_schema(), indent=2, ensure_ascii=False) and a newline to "
        "docs/reference/scenario.schema.json"
    )


def test_every_property_of_the_schema_is_described() -> None:
    schema = scenario_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for owner in (schema, *schema["$defs"].values()):
        for name, prop in owner.get("properties", {}).items():
            assert prop.get("description"), (owner["title"], name)


@cache
def schema_validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(scenario_schema())
    return jsonschema.Draft202012Validator(scenario_schema())


def schema_accepts(value: object) -> bool:
    return cast("Any", schema_validator()).is_valid(value)


def test_the_schema_accepts_the_scenarios_that_are_shipped_and_documented() -> None:
    for file in [*shipped_scenarios().values(), SNIPPETS / "site.yaml"]:
        assert schema_accepts(read_document(file.read_text(), "file").value), file


@pytest.mark.parametrize(
    "more", [{"sed": 1}, {"domains": []}, {"files": {"/x": {"mode": "0644"}}}, {"seed": -1}]
)
def test_the_schema_refuses_what_is_not_a_scenario(more: dict[str, object]) -> None:
    assert not schema_accepts({"name": "x", "domains": ["terminal"], **more})


def test_the_guides_example_prints_what_the_guide_says() -> None:
    done = subprocess.run(
        [sys.executable, str(SNIPPETS / "read.py")], capture_output=True, text=True, check=True
    )
    assert done.stdout == (SNIPPETS / "read.txt").read_text()
    guide = (ROOT / "docs/guides/scenarios.md").read_text()
    for name in ("site.yaml", "read.py", "read.txt"):
        assert (SNIPPETS / name).read_text() in guide, name


def test_the_guides_error_message_is_the_real_one() -> None:
    text = (SNIPPETS / "site.yaml").read_text().replace("hostname:", "hostnme:")
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text, source="site.yaml", base_dir=SNIPPETS)
    assert str(caught.value) in (ROOT / "docs/guides/scenarios.md").read_text()


# The shipped scenarios, in the real shell of this machine.


def written_out(name: str, folder: Path) -> Scenario:
    """The files of a shipped scenario below `folder`, as on the simulated machine."""
    scenario = Scenario.load(name)
    blobs = MemoryBlobs()
    for path, entry in scenario.initial_tree(blobs).items():
        target = folder / path[1:]
        if entry.kind == "directory":
            target.mkdir(parents=True, exist_ok=True)
        elif entry.kind == "file":
            target.write_bytes(blobs.get(entry.content))
            target.chmod(entry.mode)
    return scenario


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_shipped_scenarios_are_valid() -> None:
    shipped = shipped_scenarios()
    assert {"failing-test", "nginx-logs", "package-bug"} <= set(shipped)
    for name, path in shipped.items():
        scenario = Scenario.load(name)
        assert (scenario.name, scenario.source) == (name, str(path))
        assert scenario.initial_files(MemoryBlobs()).skipped == ()
        assert scenario.canonical() == Scenario.load(path).canonical()


def test_failing_test_fails_readably_and_passes_with_the_fix(tmp_path: Path) -> None:
    scenario = written_out("failing-test", tmp_path)
    app = tmp_path / "srv/app"
    goal = scenario.goals[0]
    assert isinstance(goal, CommandGoal)
    assert goal.stdout_contains
    before = run(goal.command, app)
    assert before.returncode == 2
    assert (
        "FAIL  sum of the market's export\n"
        "        expected: 21375\n"
        "        actual:   16875\n" in before.stdout
    )
    reference = cast("dict[str, str]", scenario.reference)
    broken = tmp_path / reference["file"][1:]
    text = broken.read_text()
    line = "    while IFS= read -r record; do"
    assert text.count(line) == 1
    broken.write_text(text.replace(line, "    " + reference["fix"]))
    after = run(goal.command, app)
    assert after.returncode == goal.exit_code
    assert goal.stdout_contains in after.stdout


def test_the_nginx_logs_say_what_the_goals_ask_for(tmp_path: Path) -> None:
    scenario = written_out("nginx-logs", tmp_path)
    report = run(
        "awk '$9 == 502 { n++ } END { print \"status: 502\\nfailed: \" n }' var/log/nginx/access.log\n"
        'awk \'$9 == 502 { split($4, t, ":"); print "since: " t[2] ":" t[3] ":" t[4]; exit }\''
        " var/log/nginx/access.log\n"
        "sed -n 's/^SHOP_LISTEN=/fix: /p' etc/shop/shop.env\n",
        tmp_path,
    ).stdout
    assert report == cast("dict[str, str]", scenario.reference)["report"]
    for goal in scenario.goals:
        assert isinstance(goal, FileGoal)
        if goal.matches:
            assert re.search(goal.matches, report, re.MULTILINE), goal.matches
    shop = (tmp_path / "etc/nginx/sites-available/shop").read_text()
    assert "127.0.0.1:8080" not in shop
    errors = (tmp_path / "var/log/nginx/error.log").read_text()
    assert 'upstream: "http://127.0.0.1:8008/' in errors
    addresses = set(
        re.findall(r"^[0-9.]+", (tmp_path / "var/log/nginx/access.log").read_text(), re.MULTILINE)
    )
    assert all(a.startswith(("192.0.2.", "198.51.100.", "203.0.113.")) for a in addresses)


def test_the_nginx_logs_are_what_their_generator_writes() -> None:
    module = runpy.run_path(str(ROOT / "tests/data/make_nginx_logs.py"))
    folder = shipped_scenarios()["nginx-logs"].parent
    assert module["logs"]() == (
        (folder / "access.log").read_text(),
        (folder / "error.log").read_text(),
    )
