from ._config import (
    GspoConfig as GspoConfig,
    gspo_config as gspo_config,
)
from ._trainer import (
    Collect as Collect,
    GspoTrainer as GspoTrainer,
    TurnCredit as TurnCredit,
)
