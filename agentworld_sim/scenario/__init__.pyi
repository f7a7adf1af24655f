from ._content import (
    AnswerGoal as AnswerGoal,
    Base64File as Base64File,
    CommandGoal as CommandGoal,
    CopiedFile as CopiedFile,
    Directory as Directory,
    FileGoal as FileGoal,
    FileSpec as FileSpec,
    Goal as Goal,
    Link as Link,
    NothingElseGoal as NothingElseGoal,
    PageGoal as PageGoal,
    RecordGoal as RecordGoal,
    RequestGoal as RequestGoal,
    TextFile as TextFile,
    UnchangedFilesGoal as UnchangedFilesGoal,
    UnchangedRecordsGoal as UnchangedRecordsGoal,
    ValueGoal as ValueGoal,
    withheld_values as withheld_values,
)
from ._control_files import (
    read_controls as read_controls,
    read_yaml as read_yaml,
)
from ._instruction import (
    CompiledInstruction as CompiledInstruction,
    compile_instruction as compile_instruction,
)
from ._internet import (
    FictionSpec as FictionSpec,
    PageSpec as PageSpec,
)
from ._profiles import (
    ControlProfile as ControlProfile,
    control_profiles as control_profiles,
)
from ._scenario import (
    Scenario as Scenario,
    declared_controls as declared_controls,
    empty_scenario as empty_scenario,
    in_domains as in_domains,
    restored_scenario as restored_scenario,
    scenario_schema as scenario_schema,
    scenario_tools as scenario_tools,
    stored_text as stored_text,
)
from ._sections import (
    AnswerSpec as AnswerSpec,
    ControlSpec as ControlSpec,
    Limits as Limits,
    MachineSpec as MachineSpec,
    ModelSpec as ModelSpec,
    RoutesSpec as RoutesSpec,
    ToolObject as ToolObject,
    UserSpec as UserSpec,
    control_schema as control_schema,
)
from ._sources import shipped_scenarios as shipped_scenarios
from .site_tasks import (
    NearMiss as NearMiss,
    SiteTask as SiteTask,
    SiteTasks as SiteTasks,
    site_tasks as site_tasks,
)
from .tables import (
    ArgumentSpec as ArgumentSpec,
    OperationSpec as OperationSpec,
    OutputSpec as OutputSpec,
    TableSpec as TableSpec,
)
