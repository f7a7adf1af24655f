import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim import Scenario
from agentworld_sim.rollouts import AgentTasks, WorldTask


# agent.tasks = "mine:tasks"
def tasks(settings: Mapping[str, Any], seed: int) -> AgentTasks:
    return AgentTasks(
        train=tasks_in(Path(settings["dataset"]) / "data/train.jsonl"),
        held_out={"new worlds": tasks_in(Path(settings["dataset"]) / "data/test.jsonl")},
    )


def tasks_in(file: Path) -> list[WorldTask]:
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [WorldTask(Scenario.parse(row["scenario"])) for row in rows]


if __name__ == "__main__":
    # As `agentworld fiction export worlds dataset` writes them.
    scenario = {
        "name": "products-0-q1",
        "domains": ["search"],
        "tools": ["search", "answer"],
        "fiction": {"family": "products"},
        "goals": [{"answer": ["Maker"], "rows": [["Orvane"]], "unique": ["Maker"]}],
    }
    for split in ("train", "test"):
        file = Path("data", f"{split}.jsonl")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"scenario": json.dumps(scenario)}) + "\n", encoding="utf-8")
    print([task.name for task in tasks({"dataset": "."}, 0).train])
