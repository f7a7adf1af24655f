"""The two projects that agents mend most often in SWE-bench, on the machine's Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.scenario import Scenario

DJANGO = """\
django-admin startproject site1 . && cat > tests.py <<'EOF'
from django.contrib.auth.models import User
from django.test import TestCase
class UserTest(TestCase):
    def test_a_user_logs_in(self):
        User.objects.create_user("ada", password="x")
        self.assertTrue(self.client.login(username="ada", password="x"))
EOF
python manage.py migrate | tail -1; python manage.py test 2>&1 | tail -3
"""
SYMPY = "python -c 'from sympy import *; x = Symbol(\"x\"); print(integrate(x**2 * cos(x), x), factor(x**4 - 1))'"


def machine_with(package: str, version: str, folder: Path) -> Scenario:
    """A machine that has this package, got by the command that a user has."""
    add = [sys.executable, "-m", "agentworld_sim.cli", "machine", "packages", "add"]
    wanted = f"{package}=={version}"
    subprocess.run([*add, "--to", str(folder / "wheels"), wanted], check=True)
    text = {
        "name": "w",
        "domains": ["terminal"],
        "tools": ["terminal"],
        "machine": {"workdir": "/srv", "packages": [package], "wheels": "wheels"},
    }
    return Scenario.parse(json.dumps(text), source="w", base_dir=folder)


@pytest.mark.parametrize(
    ("package", "version", "script", "said"),
    [
        pytest.param(
            "django",
            "6.1.3",
            DJANGO,
            "  Applying sessions.0001_initial... OK\n\nOK\nDestroying test database for alias 'default'...\n",
            id="django",
        ),
        pytest.param(
            "sympy",
            "1.14.0",
            SYMPY,
            "x**2*sin(x) + 2*x*cos(x) - 2*sin(x) (x - 1)*(x + 1)*(x**2 + 1)\n",
            id="sympy",
        ),
    ],
)
async def test_a_project_that_agents_mend_runs(
    package: str, version: str, script: str, said: str, tmp_path: Path
) -> None:
    scenario = machine_with(package, version, tmp_path)
    async with await World.create(scenario) as world:
        turn = await world.step(ToolCall("bash", {"command": script}))
    assert turn.observation.text.endswith(said)
