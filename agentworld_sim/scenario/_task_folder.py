"""Folders of tasks for containers, as scenarios: Harbor's (`task.toml`) and Terminal-Bench's older ones (`task.yaml`).

The Dockerfile is carried out in a simulated machine, once; what it leaves behind are the scenario's files. The
tests are files of the goal: no agent sees them, and they run in a fork.
"""

from __future__ import annotations

import base64
import posixpath
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, cast

from agentworld_sim.errors import ScenarioError, UsageError
from agentworld_sim.ingest.folders import tree_from_directory
from agentworld_sim.scenario._dockerfile import Instruction, read_dockerfile, with_variables
from agentworld_sim.scenario._sources import TASK_FILES
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs, is_below, normal_path

JUDGE = """\
bash {script}
code=$?
if [ -f /logs/verifier/reward.txt ]; then
  awk '{{ exit !($1 >= 1) }}' /logs/verifier/reward.txt
elif [ -f /logs/verifier/reward.json ]; then
  jq -e '.reward >= 1' /logs/verifier/reward.json > /dev/null
else
  exit $code
fi
"""
"""A reward of 1 counts, and the exit code where no reward was written."""

_INSTALL = re.compile(
    r"(?:\bpip3?\b[^&|;\n]*?\binstall|\buv (?:pip install|add))((?:[ \t]+[^\s&|;]+)+)"
)
_WITH = re.compile(r"(?:-w|--with)[= ]+([^\s&|;]+)")
_APT = re.compile(r"\bapt(?:-get)?\b[^&|;\n]*?\binstall((?:[ \t]+[^\s&|;]+)+)")
_HERE = frozenset({"pip", "pytest-json-ctrf", "setuptools", "uv", "wheel"})
"""Packages that the machine has, or that a verdict does not need."""
_UV = re.compile(r".*astral\.sh/uv.*")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
_LINKED = re.compile(r"\\\n")


def task_fields(folder: Path) -> dict[str, Any]:
    """What a scenario of the task in a folder says.

    Raises:
        ScenarioError: it needs what no world has. The message says what and where.
    """
    file = next(folder / name for name in TASK_FILES if (folder / name).is_file())
    try:
        if file.suffix == ".yaml":
            said, context, test = _yaml(file), folder, folder / "run-tests.sh"
            seconds, instruction = said.get("max_test_timeout_sec", 600), str(said["instruction"])
            env, machine = {"TEST_DIR": "/tests"}, dict[str, Any]()
        else:
            said = tomllib.loads(_text(file))
            if said.get("steps"):
                raise ScenarioError(f"{file}: tasks of several steps are not read.")
            context, test = folder / "environment", folder / "tests" / "test.sh"
            environment, verifier = said.get("environment", {}), said.get("verifier", {})
            seconds, instruction = (
                verifier.get("timeout_sec", 600),
                _text(folder / "instruction.md"),
            )
            env = {name: str(value) for name, value in verifier.get("env", {}).items()}
            memory_kib = int(environment.get("memory_mb", 2048)) * 1024
            machine = {"cpus": max(1, round(environment.get("cpus", 1))), "memory_kib": memory_kib}
        seconds = float(seconds)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ScenarioError(f"{file} is not of the form of a task: {error}") from error
    return _Task(folder, context, instruction, test, seconds, env, machine).fields()


@dataclass(slots=True)
class _Task:
    """A task on its way to a scenario: what it says, and the machine as far as it is built."""

    folder: Path
    context: Path
    instruction: str
    test: Path
    seconds: float
    test_env: dict[str, str]
    machine: dict[str, Any]
    env: dict[str, str] = field(default_factory=dict[str, str])
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    workdir: str = "/"
    user: str = "root"
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)

    def fields(self) -> dict[str, Any]:
        compose = self.context / "docker-compose.yaml"
        services = list(_yaml(compose).get("services", ())) if compose.is_file() else []
        if len(services) > 1:
            raise ScenarioError(
                f"{compose}: {len(services)} services ({', '.join(services)}); a world is one machine."
            )
        dockerfile = self.context / "Dockerfile"
        instructions = read_dockerfile(_text(dockerfile), str(dockerfile))
        # A report for people; the verdict does not need it.
        test = re.sub(r"--ctrf[= ]\S+", "", _text(self.test))
        packages, left_out = self._packages(instructions, test)
        tree, base = self._build(instructions)
        changed = ((path, entry) for path, entry in base.changes_to(tree).items() if entry)
        about = f"The task {self.folder.name!r}, made from its folder."
        return {
            "name": re.sub(r"[^a-z0-9]+", "-", self.folder.name.lower()).strip("-") or "task",
            "description": about + (f" Left out: {', '.join(left_out)}." if left_out else ""),
            "domains": ("terminal", "swe"),
            "instruction": self.instruction,
            "machine": self.machine
            | {"packages": packages, "user": self.user, "workdir": self.workdir, "env": self.env},
            "files": {path: self._spec(entry) for path, entry in changed},
            "goals": (self._goal(test),),
            "limits": {"wall_seconds": max(30.0, self.seconds)},
        }

    def _goal(self, test: str) -> dict[str, Any]:
        held = self._read(self.folder / "tests", "/tests")
        script = f"/tests/{self.test.name}"
        exports = "".join(f"export {n}={shlex.quote(v)}\n" for n, v in self.test_env.items())
        hidden = {
            path: self._spec(entry) for path, entry in held.items() if is_below(path, "/tests")
        }
        # What an agent left in these folders does not count.
        hidden |= {path: {"directory": True} for path in ("/tests", "/logs", "/logs/verifier")}
        hidden |= {
            "/logs/judge": exports + JUDGE.format(script=script),
            "/root/.local/bin/env": "",
            script: {"text": _prelude() + test, "mode": "0755"},
        }
        return {"command": "bash /logs/judge", "files": hidden}

    def _spec(self, entry: FileEntry) -> dict[str, Any]:
        if entry.kind == "symlink":
            return {"link": entry.content, "owner": entry.owner}
        about = {"mode": f"{entry.mode:04o}", "owner": entry.owner, "group": entry.group}
        if entry.kind == "directory":
            return {"directory": True, **about}
        data = self.blobs.get(entry.content)
        try:
            return {"text": data.decode(), **about}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(data).decode(), **about}

    def _read(self, folder: Path, at: str) -> dict[str, FileEntry]:
        """The files of a folder. Modes are made plain, as in a checkout: a task is one world on every machine."""
        try:
            tree = tree_from_directory(folder, self.blobs, at=at, include_secrets=True).tree
        except UsageError as error:
            raise ScenarioError(str(error)) from error
        return {
            path: replace(entry, mode=0o755 if entry.mode & 0o100 else 0o644, mtime_us=0)
            for path, entry in tree.items()
        }

    def _packages(
        self, instructions: Iterable[Instruction], test: str
    ) -> tuple[list[str], list[str]]:
        """The Python packages that the task needs, and what of all that it names no file of it asks for.

        Raises:
            ScenarioError: it needs a program that the machine does not have.
        """
        from agentworld_sim.engines.shell.programs import PACKAGES

        scripts = _LINKED.sub(
            " ", "\n".join(one.script for one in instructions if one.name == "RUN")
        )
        test = _LINKED.sub(" ", test)
        here = {package.name for package in PACKAGES}
        words, imported = self._mentions(test)
        found = _words_after(_APT, scripts)
        lacking = [one for one in found if one not in here and not one.startswith("python3")]
        if needed := [one for one in lacking if one in words]:
            raise ScenarioError(
                f"{self.folder}: it needs {', '.join(needed)}, which the simulated machine does not have."
            )
        named = _words_after(_INSTALL, f"{scripts}\n{test}") + _WITH.findall(test)
        for file in [one for one in named if one.endswith(".txt")]:
            named.remove(file)
            for path in self.context.rglob(file.rpartition("/")[2]):
                named += _text(path).split("\n")
        plain = {
            re.split(r"[=<>!~\[; ]", one.strip(" '\""), maxsplit=1)[0].lower() for one in named
        }
        packages = sorted(one for one in plain - _HERE if re.fullmatch(r"[a-z][\w.-]*", one))
        modules = {one: one.replace("-", "_") for one in packages}
        asked = [one for one in packages if one in words or modules[one] in imported]
        if imported - {modules[one] for one in asked}:
            # Some module has another name than its package.
            asked = packages
        return asked, lacking + [one for one in packages if one not in asked]

    def _mentions(self, test: str) -> tuple[set[str], set[str]]:
        """The words of the task's texts, and the modules that its programs import and that are not its own."""
        for pattern in (_WITH, _INSTALL, _APT, _UV):
            test = pattern.sub("", test)
        texts, own = [self.instruction, test], set(sys.stdlib_module_names)
        for path in (*self.context.rglob("*"), *(self.folder / "tests").rglob("*")):
            own |= {path.stem, path.name}
            if path.name != "Dockerfile" and path.suffix in (".py", ".md", ".txt", ".toml"):
                texts.append(path.read_text("utf-8", "replace")[:200_000])
        whole = "\n".join(texts)
        words = set(re.findall(r"[a-z][\w.+-]*[\w+]", whole.lower()))
        return words, set(_IMPORT.findall(whole)) - own

    def _build(self, instructions: Iterable[Instruction]) -> tuple[FileTree, FileTree]:
        """The machine's files after the Dockerfile, and before it."""
        from agentworld_sim.engines.shell import Machine
        from agentworld_sim.engines.shell.image import base_tree
        from agentworld_sim.engines.shell.machine import environment

        base = tree = base_tree(Machine(), 0, self.blobs)
        context = self._read(self.context, "/")
        for one in instructions:
            variables = {**environment(Machine()), **self.arguments, **self.env}
            if one.name == "RUN":
                tree = self._run(one, tree)
            elif one.name in ("COPY", "ADD"):
                tree = tree.with_entries(dict(self._copies(one, variables, context, tree)))
            elif one.name == "ENV":
                self.env.update(_assignments(one, variables))
            elif one.name == "ARG":
                name, _, default = one.text.partition("=")
                self.arguments.setdefault(name, with_variables(default.strip("'\""), variables))
            elif one.name == "USER":
                self.user = one.words(variables)[1][0].partition(":")[0]
            else:
                self.workdir = self._absolute(one.words(variables)[1][0])
                tree = tree.with_entries({self.workdir: FileEntry("directory", 0o755)})
        return tree, base

    def _absolute(self, path: str) -> str:
        return normal_path(posixpath.join(self.workdir, path))

    def _run(self, one: Instruction, tree: FileTree) -> FileTree:
        from agentworld_sim.engines.shell import Machine, ShellEngine
        from agentworld_sim.engines.shell.live_shell import FRESH
        from agentworld_sim.types.state import WorldState

        exports = {**self.arguments, **self.env}
        machine = Machine(workdir=self.workdir, env=tuple(sorted(exports.items())))
        state = WorldState(files=tree, clock_us=0, seed=0)
        live = ShellEngine(machine).bring_up(state, self.blobs, None)
        try:
            live.start_turn(0, 0)
            done = live.run(_prelude() + one.script, FRESH, keep="nothing")
            changes = live.collect(self.blobs)
        finally:
            live.close()
        if done.exit_code != 0:
            said = (done.stderr or done.stdout).strip().rpartition("\n")[2][:300]
            raise ScenarioError(f"{one.where}: RUN ended with {done.exit_code} in a world: {said}")
        return tree.with_changes(changes)

    def _copies(
        self,
        one: Instruction,
        variables: Mapping[str, str],
        context: Mapping[str, FileEntry],
        tree: FileTree,
    ) -> Iterator[tuple[str, FileEntry]]:
        flags, (*sources, to) = one.words(variables)
        if "from" in flags or any("://" in source for source in sources):
            raise ScenarioError(f"{one.where}: only files of the task's folder can be copied.")
        if one.name == "ADD" and any(re.search(r"\.(?:tar(?:\.\w+)?|tgz)$", x) for x in sources):
            raise ScenarioError(f"{one.where}: ADD of an archive; unpack it with RUN tar.")
        target = self._absolute(to)
        owner, _, group = flags.get("chown", "root").partition(":")
        kept: dict[str, Any] = {"owner": owner, "group": group or owner}
        kept |= {"mode": int(flags["chmod"], 8)} if "chmod" in flags else {}
        if one.heredoc:
            data = one.heredoc.encode()
            entry = FileEntry("file", 0o644, 0, self.blobs.put(data), len(data))
            yield target, replace(entry, **kept)
            return
        inside = to.endswith(("/", ".")) or len(sources) > 1
        inside = inside or (target in tree and tree[target].kind == "directory")
        for source in sources:
            pattern = normal_path(f"/{source}")
            found = [one for one in context if one == pattern or PurePosixPath(one).match(pattern)]
            if not found:
                raise ScenarioError(f"{one.where}: {source!r} is not in {self.context}.")
            for path in found:
                is_folder = context[path].kind == "directory"
                start = path if is_folder or not inside else path.rpartition("/")[0]
                for below in [one for one in context if is_below(one, path)]:
                    entry = context[below]
                    place = normal_path(f"{target}/{below.removeprefix(start)}")
                    yield place, replace(entry, **kept) if entry.kind == "file" else entry


def _assignments(one: Instruction, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """`ENV A=1 B=2`, and the older `ENV A 1`."""
    text = with_variables(one.text, variables)
    name, _, value = text.partition(" ")
    if "=" not in name:
        yield name, value.strip()
    else:
        yield from ((n, v) for n, _, v in (word.partition("=") for word in shlex.split(text)))


def _words_after(pattern: re.Pattern[str], scripts: str) -> list[str]:
    words = " ".join(pattern.findall(scripts)).split()
    return sorted({one.strip("'\"") for one in words if not one.startswith("-")})


def _yaml(file: Path) -> dict[str, Any]:
    import yaml

    try:
        said = cast("object", yaml.safe_load(_text(file)))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{file}: {error}") from error
    if not isinstance(said, dict):
        raise ScenarioError(f"{file} is not a mapping.")
    return cast("dict[str, Any]", said)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{file} cannot be read: {error}") from error


def _prelude() -> str:
    return files("agentworld_sim.scenario").joinpath("task_prelude.bash").read_text("utf-8")
