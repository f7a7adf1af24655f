from .conditions import Conditions as Conditions
from .exchanges import (
    Exchange as Exchange,
    FailedStep as FailedStep,
)
from .files import (
    BlobId as BlobId,
    Blobs as Blobs,
    FileEntry as FileEntry,
    FileTree as FileTree,
    MemoryBlobs as MemoryBlobs,
    blob_id as blob_id,
)
from .json import canonical_json as canonical_json
from .refs import WorldRef as WorldRef
from .state import (
    StateChange as StateChange,
    WorldState as WorldState,
)
from .tools import (
    Access as Access,
    DomainName as DomainName,
    Route as Route,
    ToolCall as ToolCall,
    ToolSpec as ToolSpec,
)
from .turns import (
    Action as Action,
    CheckVerdict as CheckVerdict,
    InnerAnswer as InnerAnswer,
    Observation as Observation,
    Provenance as Provenance,
    Trajectory as Trajectory,
    Turn as Turn,
    read_turns as read_turns,
)
