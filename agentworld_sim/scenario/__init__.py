"""Scenarios: declarative, validated descriptions of worlds.

pydantic and YAML are imported here and nowhere else in the core, so that the rest stays light.
"""

from agentworld_sim.scenario._answers import AnswerSpec
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
from agentworld_sim.scenario._controls import ControlSpec, declared_controls
from agentworld_sim.scenario._imagining import ModelSpec, RoutesSpec
from agentworld_sim.scenario._offered import in_domains, scenario_tools
from agentworld_sim.scenario._parts import (
    Limits,
    MachineSpec,
    ToolObject,
    UserSpec,
)
from agentworld_sim.scenario._scenario import Scenario, scenario_schema
from agentworld_sim.scenario._shipped import shipped_scenarios
from agentworld_sim.scenario._stored import empty_scenario, restored_scenario, stored_text
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
