from pathlib import Path

from agentworld_sim.scenario import Scenario
from agentworld_sim.types import MemoryBlobs

scenario = Scenario.load(Path(__file__).parent / "site.yaml")
first = scenario.initial_files(MemoryBlobs())

for path, entry in first.tree.items():
    if path.startswith("/srv/site/"):
        print(f"{entry.mode:04o} {entry.owner} {path}")
