"""Scenarios: declarative, validated descriptions of worlds.

pydantic and YAML are imported here and nowhere else in the core, so that the rest stays light.
"""

from agentworld_sim.scenario._content import (
    Base64File,
    CommandGoal,
    CopiedFile,
    Directory,
    FileGoal,
    FileSpec,
    Goal,
    Link,
    RecordGoal,
    TextFile,
    UnchangedFilesGoal,
    UnchangedRecordsGoal,
)
from agentworld_sim.scenario._scenario import (
    Scenario,
    empty_scenario,
    in_domains,
    restored_scenario,
    scenario_schema,
    scenario_tools,
    shipped_scenarios,
    stored_text,
)
from agentworld_sim.scenario._sections import (
    AnswerSpec,
    ControlSpec,
    Limits,
    MachineSpec,
    ModelSpec,
    RoutesSpec,
    ToolObject,
    UserSpec,
    declared_controls,
)
from agentworld_sim.scenario.tables import ArgumentSpec, OperationSpec, OutputSpec, TableSpec

__all__ = [
    "AnswerSpec",
    "ArgumentSpec",
    "Base64File",
    "CommandGoal",
    "ControlSpec",
    "CopiedFile",
    "Directory",
    "FileGoal",
    "FileSpec",
    "Goal",
    "Limits",
    "Link",
    "MachineSpec",
    "ModelSpec",
    "OperationSpec",
    "OutputSpec",
    "RecordGoal",
    "RoutesSpec",
    "Scenario",
    "TableSpec",
    "TextFile",
    "ToolObject",
    "UnchangedFilesGoal",
    "UnchangedRecordsGoal",
    "UserSpec",
    "declared_controls",
    "empty_scenario",
    "in_domains",
    "restored_scenario",
    "scenario_schema",
    "scenario_tools",
    "shipped_scenarios",
    "stored_text",
]
