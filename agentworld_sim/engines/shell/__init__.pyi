from .command_question import (
    CommandQuestion as CommandQuestion,
    machine_sum as machine_sum,
)
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
