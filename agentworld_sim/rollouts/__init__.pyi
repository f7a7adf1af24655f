from .hermes import (
    tool_objects as tool_objects,
    write_call as write_call,
)
from .http_policy import (
    HttpPolicy as HttpPolicy,
    HttpPolicySettings as HttpPolicySettings,
)
from .policies import (
    Completion as Completion,
    Policy as Policy,
    PolicyDrifted as PolicyDrifted,
    ScriptedPolicy as ScriptedPolicy,
    verify_policy as verify_policy,
)
from .prediction_task import (
    UNFINISHED as UNFINISHED,
    PredictionTask as PredictionTask,
    opening_tag as opening_tag,
)
from .rollout import (
    Progress as Progress,
    RolloutSettings as RolloutSettings,
    seed_of as seed_of,
)
from .rollout_engine import (
    RolloutEngine as RolloutEngine,
    RolloutFailed as RolloutFailed,
)
from .rollout_log import (
    RolloutLog as RolloutLog,
    RolloutRecord as RolloutRecord,
    StopReason as StopReason,
    read_rollouts as read_rollouts,
    show as show,
)
from .tasks import (
    AgentTasks as AgentTasks,
    Environment as Environment,
    EnvironmentReply as EnvironmentReply,
    Opening as Opening,
    Task as Task,
)
from .turn_tokens import (
    ChatTokenizer as ChatTokenizer,
    TurnTokens as TurnTokens,
)
from .world_task import (
    WorldTask as WorldTask,
    WorldTaskSettings as WorldTaskSettings,
)
