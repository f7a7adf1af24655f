from .bench_rows import (
    BENCH_FIELDS as BENCH_FIELDS,
    BenchRow as BenchRow,
    domain_of_file as domain_of_file,
    is_bench_row as is_bench_row,
)
from .evidence import (
    EVIDENCE_BYTES as EVIDENCE_BYTES,
    check_input as check_input,
    checks_of as checks_of,
    evidence_of as evidence_of,
    read_observation as read_observation,
    turns_of_prompt as turns_of_prompt,
)
from .judge import (
    DIMENSIONS as DIMENSIONS,
    Judge as Judge,
    Judgement as Judgement,
    Unreadable as Unreadable,
    read_judgement as read_judgement,
)
from .judge_appeals import NoAppealCheck as NoAppealCheck
from .prediction_reward import (
    FULL as FULL,
    PredictionReward as PredictionReward,
    RewardFunction as RewardFunction,
    is_computed as is_computed,
)
from .samples import (
    Message as Message,
    PredictionSample as PredictionSample,
    Reward as Reward,
)
from .similarity import (
    agreement as agreement,
    is_exact as is_exact,
)
from .wire_text import (
    parse_action as parse_action,
    parse_call as parse_call,
    strip_marker as strip_marker,
)
