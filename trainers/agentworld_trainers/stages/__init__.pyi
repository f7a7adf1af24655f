from ._data import make_data as make_data
from ._eval import (
    EvalReport as EvalReport,
    evaluate as evaluate,
)
from ._gspo_stages import (
    train_agent as train_agent,
    train_rl as train_rl,
)
from ._models import (
    load_model as load_model,
    load_tokenizer as load_tokenizer,
)
from ._processes import threads as threads
from ._reinforcement import rollout_settings as rollout_settings
from ._run import (
    Run as Run,
    StageFolder as StageFolder,
    read_metrics as read_metrics,
)
from ._sft_stages import (
    train_cpt as train_cpt,
    train_sft as train_sft,
)
