from pathlib import Path

from agentworld_sim.scenario import Scenario
from agentworld_sim.state._files import MemoryBlobs

scenario = Scenario.load(Path(__file__).parent / "site.yaml")
blobs = MemoryBlobs()
first = scenario.initial_files(blobs)

for path, entry in first.tree.items():
    if path.startswith("/srv/site/"):
        print(f"{entry.mode:04o} {entry.owner} {path}")
