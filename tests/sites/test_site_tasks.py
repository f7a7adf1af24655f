"""Every task that comes with a site is proved, with the tools that an agent has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import ScenarioError, UsageError
from agentworld_sim.scenario import SiteTasks, site_tasks
from agentworld_sim.scenario.site_file import SHIPPED
from agentworld_sim.scenario.site_tasks import element_ref
from agentworld_sim.testing.task_proof import prove_site_task

SITES = sorted(file.parent.name for file in SHIPPED.glob("*/tasks.yaml"))
TASKS = [
    # Two of each site in the default tests; a hundred take a minute.
    pytest.param(site, task.id, marks=[pytest.mark.slow] * (number > 1), id=f"{site}-{task.id}")
    for site in SITES
    for number, task in enumerate(site_tasks(site).tasks)
]


@pytest.mark.parametrize(("site", "name"), TASKS)
async def test_the_reference_reaches_the_goals_and_near_misses_do_not(site: str, name: str) -> None:
    assert await prove_site_task(site_tasks(site), name) == []


def test_a_task_is_a_scenario_in_each_of_its_wordings() -> None:
    tasks = site_tasks("forum")
    texts = [tasks.scenario_of("subscribers-of-space", wording=one).instruction for one in range(3)]
    assert len(set(texts)) == 3
    told = "The site is at http://forum.test/ and you are signed in as MarvelsGrantMan136."
    assert all(f"{told} Hand the answer in with `submit_answer`." in str(text) for text in texts)


@pytest.mark.parametrize("site", SITES)
def test_a_site_has_twenty_tasks_of_three_difficulties(site: str) -> None:
    tasks = site_tasks(site).tasks
    assert len(tasks) >= 20
    assert {task.difficulty for task in tasks} == {"easy", "medium", "hard"}


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="no tasks for a site 'forums'"):
        site_tasks("forums")
    with pytest.raises(UsageError, match="no task 'subscribe-to-musik'"):
        site_tasks("forum").task("subscribe-to-musik")
    with pytest.raises(UsageError, match="has 3 wordings, 0 to 2; there is no 3"):
        site_tasks("forum").scenario_of("subscribe-to-music", wording=3)


SPOILED: dict[str, tuple[dict[str, Any], str]] = {
    "a step that names no element": ({"steps": [{"click": "the button"}]}, 'button "Save"'),
    "typing into nothing": ({"steps": [{"type": {}}]}, 'button "Save"'),
    "an unknown step": ({"steps": [{"hover": "x"}]}, "one of open, click"),
    "a form of goal that is none": (
        {"near_misses": [{"refused_by": "row", "steps": [{"open": "/"}]}]},
        "one of file, command",
    ),
    "too few near misses": ({"near_misses": []}, "at least 5"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(how: str, tmp_path: Path) -> None:
    changed, told = SPOILED[how]
    refused(tmp_path, told, changed)


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "another task", {}, {})


def refused(folder: Path, told: str, *changes: dict[str, Any]) -> None:
    first = site_tasks("forum").tasks[0].model_dump(mode="json", exclude_defaults=True)
    path = folder / "tasks.yaml"
    tasks = [first | changed for changed in changes]
    path.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    with pytest.raises(ScenarioError, match=f"tasks.yaml:[\\s\\S]*{re.escape(told)}"):
        SiteTasks.load(path)


async def test_a_proof_says_what_does_not_hold() -> None:
    tasks = site_tasks("forum")
    task = tasks.task("subscribe-to-music")
    done, other = task.near_misses[0].model_copy(update={"steps": task.steps}), task.near_misses[1]
    lost = other.model_copy(update={"steps": ({"click": 'button "Vanish"'},)})
    changed = task.model_copy(update={"steps": other.steps, "near_misses": (done, lost)})
    found = await prove_site_task(tasks.model_copy(update={"tasks": (changed,)}), task.id)
    assert [text.splitlines()[0] for text in found] == [
        'the reference: subscriptions: added {"forum":"music","user":"MarvelsGrantMan136"}: 0 such records were added',
        "near miss 1: no goal of the form `record` refuses it",
        'near miss 2: the page shows no button "Vanish":',
    ]


SNAPSHOT = """
- list [ref=e2]:
  - listitem [ref=e3]:
    - 'link "A: one" [ref=e4] [cursor=pointer]':
      - /url: /a
    - button "Vote" [ref=e5]
  - listitem [ref=e6]:
    - link "it's" [ref=e7]
    - button "Vote" [disabled] [ref=e8]
- textbox [ref=e9]: Vote
"""


@pytest.mark.parametrize(
    ("target", "ref"),
    [
        ('link "A: one"', "e4"),
        ('link "it\'s"', "e7"),
        ('button "Vote"', "e5"),
        ('button "Vote" after "it\'s"', "e8"),
        ('link "A: one" before "it\'s"', "e4"),
        ('button "Vote" before "it\'s"', "e5"),
        ("textbox", "e9"),
        ('textbox "Vote"', None),
        ('button "Vot"', None),
        ('button "Vote" after "nothing"', None),
    ],
)
def test_an_element_is_found_by_role_name_and_what_stands_beside_it(
    target: str, ref: str | None
) -> None:
    assert element_ref(SNAPSHOT, target) == ref
