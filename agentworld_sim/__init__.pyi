from ._version import (
    __version__ as __version__,
)
from .binding import (
    BoundTool as BoundTool,
    bind as bind,
)
from .checks import (
    Check as Check,
    CheckInput as CheckInput,
)
from .controls import (
    Control as Control,
)
from .diff import (
    FileChange as FileChange,
    RecordChange as RecordChange,
    StateDiff as StateDiff,
    ValueChange as ValueChange,
)
from .engines import (
    FunctionEngine as FunctionEngine,
)
from .episode import (
    Episode as Episode,
    EpisodeStep as EpisodeStep,
)
from .errors import (
    AccessRefused as AccessRefused,
    AgentworldError as AgentworldError,
    ArgumentsError as ArgumentsError,
    EngineFailure as EngineFailure,
    HeadMoved as HeadMoved,
    ModelFailure as ModelFailure,
    ObservationRejected as ObservationRejected,
    ScenarioError as ScenarioError,
    StoreError as StoreError,
    UnknownToolError as UnknownToolError,
    UnknownWorldError as UnknownWorldError,
    UsageError as UsageError,
    WorldFailure as WorldFailure,
)
from .imagination import (
    WorldModel as WorldModel,
)
from .llm import (
    ModelSettings as ModelSettings,
)
from .ports import (
    Answer as Answer,
    Engine as Engine,
    EngineSession as EngineSession,
    StepContext as StepContext,
)
from .scenario import (
    Scenario as Scenario,
)
from .store import (
    MemoryStore as MemoryStore,
    PostgresStore as PostgresStore,
    SqliteStore as SqliteStore,
    WorldStore as WorldStore,
)
from .types import (
    Access as Access,
    Action as Action,
    CheckVerdict as CheckVerdict,
    DomainName as DomainName,
    Exchange as Exchange,
    FailedStep as FailedStep,
    FileEntry as FileEntry,
    FileTree as FileTree,
    Observation as Observation,
    Provenance as Provenance,
    Route as Route,
    StateChange as StateChange,
    ToolCall as ToolCall,
    ToolSpec as ToolSpec,
    Trajectory as Trajectory,
    Turn as Turn,
    WorldRef as WorldRef,
    WorldState as WorldState,
    read_turns as read_turns,
)
from .world import (
    World as World,
)
from .world_spec import (
    WorldSpec as WorldSpec,
)
