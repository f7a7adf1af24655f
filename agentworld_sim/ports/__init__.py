"""The seams of a world, as protocols. Each has a registry or a place where it is given, and a page that says how to
write one.

| to add | implement | name it in | page |
|---|---|---|---|
| an engine | `Engine`, `EngineSession` | `agentworld.engines` | write-an-engine.md |
| what is asked of a model | `Question` | the engine that asks | write-an-engine.md |
| who answers it | `Imaginer`, `WorldImaginer` | `World.create(model=…)` | imagining.md |
| a control | `Control` | `agentworld.controls` | write-a-control.md |
| a check | `Check` | `agentworld.checks` | write-a-check.md |
| a program of the machine | `Command` | `agentworld.programs` | write-a-program.md |
| a store | `WorldStore` | `World.create(store=…)` | stores.md |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
