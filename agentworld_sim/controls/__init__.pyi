from .adversarial_text import AdversarialText as AdversarialText
from .changed_schema import ChangedSchema as ChangedSchema
from .clock_skew import ClockSkew as ClockSkew
from .connection_cut import ConnectionCut as ConnectionCut
from .contradiction import Contradiction as Contradiction
from .control_list import control_kinds as control_kinds
from .disk_full import DiskFull as DiskFull
from .duplicate_results import DuplicateResults as DuplicateResults
from .duplicated_write import DuplicatedWrite as DuplicatedWrite
from .expired_token import ExpiredToken as ExpiredToken
from .fault import Fault as Fault
from .hidden_fact import HiddenFact as HiddenFact
from .incomplete_result import IncompleteResult as IncompleteResult
from .intermittent_error import IntermittentError as IntermittentError
from .locked_account import LockedAccount as LockedAccount
from .lost_write import LostWrite as LostWrite
from .noise import Noise as Noise
from .out_of_order import OutOfOrder as OutOfOrder
from .outdated_page import OutdatedPage as OutdatedPage
from .pagination import Pagination as Pagination
from .partial_batch import PartialBatch as PartialBatch
from .paywall import Paywall as Paywall
from .permission_denied import PermissionDenied as PermissionDenied
from .quota import Quota as Quota
from .rate_limit import RateLimit as RateLimit
from .read_only import ReadOnly as ReadOnly
from .selective_control import (
    Control as Control,
    Next as Next,
    SelectiveControl as SelectiveControl,
    StepContext as StepContext,
    control_values as control_values,
    controls_in as controls_in,
    failure_of as failure_of,
    has_effect as has_effect,
)
from .server_error import ServerError as ServerError
from .slow_answer import SlowAnswer as SlowAnswer
from .spam_results import SpamResults as SpamResults
from .stale_read import StaleRead as StaleRead
from .timeout import Timeout as Timeout
from .truncated_result import TruncatedResult as TruncatedResult
from .vanished_tool import VanishedTool as VanishedTool
from .withheld_field import WithheldField as WithheldField
from .wrong_encoding import WrongEncoding as WrongEncoding
from .wrong_unit import WrongUnit as WrongUnit
from .wrong_value import WrongValue as WrongValue
