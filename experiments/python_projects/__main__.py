"""Runs the test suites of projects of the index in worlds and on this host, and compares them test by test.

    python -m experiments.python_projects --host python3.12

The host's Python must be a 3.12 with pip; packages come from the index that its pip is set up for. Needs the extra
`machine`. The figures go to `results.json` beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from agentworld_sim import ToolCall, World
from agentworld_sim.engines.shell.wasi.package_layer import user_wheels
from agentworld_sim.scenario import Scenario

PROJECTS = {
    "click": "tests",
    "humanize": "tests",
    "inflection": "test_inflection.py",
    "iniconfig": "testing",
    "itsdangerous": "tests",
    "more-itertools": "tests",
    "packaging": "tests",
    "parse": "tests",
    "pluggy": "testing",
    "python-slugify": "tests",
    "tabulate": "test",
    "toolz": "toolz",
}
"""What is given to pytest, by project."""

NEEDED = {
    "humanize": ("freezegun",),
    "itsdangerous": ("freezegun",),
    "packaging": ("hypothesis", "pretend"),
}
"""What the tests need beside pytest."""

OPTIONS = ("-q", "--tb=short", "-p", "no:cacheprovider", "-o", "addopts=")

RESULTS = Path(__file__).with_name("results.json")

Outcomes = dict[str, str]
"""`passed`, `failed`, `error` or `skipped` by test."""


def outcomes(report: str) -> Outcomes:
    """Those of a file of `--junit-xml`."""
    found: Outcomes = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[name] = {"failure": "failed"}.get(kinds[0], kinds[0]) if kinds else "passed"
    return found


def outside(python: str, project: str, folder: Path) -> tuple[Outcomes, float]:
    """On this host, in an environment of its own with the same wheels."""
    with TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", place], check=True)
        own = f"{place}/bin/python"
        offline = ["--quiet", "--no-index", f"--find-links={user_wheels()}"]
        named = ["pytest", project, *NEEDED.get(project, ())]
        subprocess.run([own, "-m", "pip", "install", *offline, *named], check=True)
        started = time.perf_counter()
        command = [
            own,
            "-m",
            "pytest",
            *OPTIONS,
            f"--junit-xml={place}/report.xml",
            PROJECTS[project],
        ]
        environment = {name: os.environ[name] for name in ("PATH", "HOME")}
        subprocess.run(command, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
        return outcomes(Path(place, "report.xml").read_text()), time.perf_counter() - started


async def inside(project: str, folder: Path) -> tuple[Outcomes, float]:
    """In a world."""
    machine = {"packages": ["pytest", project, *NEEDED.get(project, ())], "workdir": "/srv/project"}
    text = json.dumps(
        {
            "name": project,
            "domains": ["terminal"],
            "tools": ["terminal"],
            "machine": machine,
            "files_from": ".",
            "limits": {"wall_seconds": 600.0},
        }
    )
    world = await World.create(Scenario.parse(text, source=project, base_dir=folder))
    command = shlex.join(["python3", "-m", "pytest", *OPTIONS, PROJECTS[project]])
    started = time.perf_counter()
    turn = await world.step(ToolCall("bash", {"command": f"{command} --junit-xml=/tmp/report.xml"}))
    seconds = time.perf_counter() - started
    print(turn.observation.text[-3_000:])
    found = outcomes((await world.read_file("/tmp/report.xml")).decode())
    await world.close()
    return found, seconds


def source_of(project: str, folder: Path) -> Path:
    """The project's source distribution, unpacked in `folder`."""
    options = ["--quiet", "--no-deps", f"--no-binary={project}", "-d", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, project], check=True)
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    return next(folder.iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True, help="a Python 3.12 of this host")
    parser.add_argument("--only", nargs="*", default=list(PROJECTS), help="some of the projects")
    chosen = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for project in chosen.only:
        needed = ["pytest", project, *NEEDED.get(project, ())]
        add = [sys.executable, "-m", "agentworld_sim.cli", "machine", "packages", "add"]
        subprocess.run([*add, *needed], check=True)
        with TemporaryDirectory() as place:
            folder = source_of(project, Path(place))
            here, world_s = asyncio.run(inside(project, folder))
            there, host_s = outside(chosen.host, project, folder)
        both = here.keys() | there.keys()
        apart = {
            name: [there.get(name), here.get(name)]
            for name in sorted(both)
            if here.get(name) != there.get(name)
        }
        results[project] = {
            "source": folder.name,
            "tests": len(both),
            "equal": len(both) - len(apart),
            "world_seconds": round(world_s, 1),
            "host_seconds": round(host_s, 1),
            "outside, in the world": apart,
        }
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(project, results[project]["equal"], "of", results[project]["tests"])
    tests, equal = (sum(one[key] for one in results.values()) for key in ("tests", "equal"))
    print(f"{equal} of {tests} tests: {equal / tests:.2%}")


if __name__ == "__main__":
    main()
