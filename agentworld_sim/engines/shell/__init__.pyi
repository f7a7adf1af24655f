from ._command import (
    Command as Command,
    CommandCall as CommandCall,
    CommandResult as CommandResult,
    Endless as Endless,
)
from .command_question import (
    CommandQuestion as CommandQuestion,
    machine_sum as machine_sum,
)
from .commands import known_programs as known_programs
from .file_operations import (
    CommandAnswer as CommandAnswer,
    FileOperation as FileOperation,
    Validate as Validate,
)
from .machine import (
    Machine as Machine,
    ShellLimits as ShellLimits,
    User as User,
)
from .script_analysis import needs_more_input as needs_more_input
from .shell_engine import ShellEngine as ShellEngine
from .turn import ShellTurn as ShellTurn
from .wasi.process import run_process as run_process
from .wasi.wasm_module import WasmModule as WasmModule
