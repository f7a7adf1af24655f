from .inference import (
    infer as infer,
    plan_of as plan_of,
)
from .operation import (
    Argument as Argument,
    Does as Does,
    Operation as Operation,
    Output as Output,
    Plan as Plan,
    Role as Role,
    Table as Table,
)
from .seeds import (
    records_from as records_from,
    with_records as with_records,
)
from .table_changes import (
    record_changes as record_changes,
    records_in as records_in,
    records_view as records_view,
)
from .table_engine import TableEngine as TableEngine
