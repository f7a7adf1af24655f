from ._browser_toolkit import SimulatedBrowserToolkit as SimulatedBrowserToolkit
from ._deepagents_backend import (
    SimDeepAgentState as SimDeepAgentState,
    SimulatedSandbox as SimulatedSandbox,
)
from ._interruption import SimulationInterrupted as SimulationInterrupted
from ._middleware import (
    SimulatedShellMiddleware as SimulatedShellMiddleware,
    SimulatedTools as SimulatedTools,
)
from ._model_call_faults import ModelCallFaults as ModelCallFaults
from ._scripted_chat_model import (
    ExpectedAnswer as ExpectedAnswer,
    ScriptedChatModel as ScriptedChatModel,
    ScriptMismatch as ScriptMismatch,
)
from ._simulate import (
    SimulatedTool as SimulatedTool,
    simulate as simulate,
)
from ._simulate_graph import (
    simulate_graph as simulate_graph,
    simulate_tool_nodes as simulate_tool_nodes,
)
from ._thread_refs import (
    SimState as SimState,
    ref_in as ref_in,
)
from ._tool_node import SimToolNode as SimToolNode
from ._world_handle import (
    ToolOptions as ToolOptions,
    WorldOptions as WorldOptions,
)
