"""An agent keeps its own tools; the world behind them becomes simulated.

```python
from agentworld_sim import Scenario, ToolCall, World

async with await World.create(Scenario.load("failing-test")) as world:
    turn = await world.step(ToolCall("bash", {"command": "make test"}))
    print(turn.observation.text)
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
