"""The seams of a world, as protocols. Each has a registry or a place where it is given, and a page that says how to
write one.

| to add | implement | name it in | page |
|---|---|---|---|
| an engine | `Engine`, `EngineSession` | `agentworld.engines` | write-an-engine.md |
| what is asked of a model | `Question` | the engine that asks | write-an-engine.md |
| who answers it | `Imaginer`, `WorldImaginer` | `World.create(model=…)` | imagining.md |
| a control | `Control` | `agentworld.controls` | write-a-control.md |
| a check | `Check` | `agentworld.checks` | write-a-check.md |
| a store | `WorldStore` | `World.create(store=…)` | stores.md |
"""

from agentworld_sim.ports.questions import (
    ImaginedValue,
    Imaginer,
    Part,
    Prompt,
    PromptContext,
    Question,
    QuestionKey,
    WorldImaginer,
    whole_answer,
)
from agentworld_sim.ports.steps import (
    Answer,
    BindsTogether,
    Check,
    CheckInput,
    Control,
    Engine,
    EngineSession,
    Judge,
    MovableSession,
    Next,
    OnDelta,
    StepContext,
    accept_unchecked,
)
from agentworld_sim.ports.stores import NewBlobs, Origin, WorldRecord, WorldStore

__all__ = [
    "Answer",
    "BindsTogether",
    "Check",
    "CheckInput",
    "Control",
    "Engine",
    "EngineSession",
    "ImaginedValue",
    "Imaginer",
    "Judge",
    "MovableSession",
    "NewBlobs",
    "Next",
    "OnDelta",
    "Origin",
    "Part",
    "Prompt",
    "PromptContext",
    "Question",
    "QuestionKey",
    "StepContext",
    "WorldImaginer",
    "WorldRecord",
    "WorldStore",
    "accept_unchecked",
    "whole_answer",
]
