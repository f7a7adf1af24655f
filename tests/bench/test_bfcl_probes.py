"""Calls tried beside BFCL's tasks: what is changed in their arguments."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import bench
from tests.properties import examples

PROGRAM = Path(bench.__file__).parent / "environments" / "bfcl.py"
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


@pytest.fixture(scope="module")
def program() -> Any:
    """The program, without the package whose tasks it plays."""
    package, constants = ModuleType("bfcl_eval"), ModuleType("executable_backend_config")
    package.__file__ = __file__
    names = ("CLASS_FILE_PATH_MAPPING", "MULTI_TURN_FUNC_DOC_FILE_MAPPING", "STATELESS_CLASSES")
    vars(constants).update({name: {} for name in names})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(PROGRAM.parent), *sys.path])
        patch.setitem(sys.modules, "bfcl_eval", package)
        patch.setitem(sys.modules, "bfcl_eval.constants", ModuleType("constants"))
        patch.setitem(sys.modules, "bfcl_eval.constants.executable_backend_config", constants)
        spec = spec_from_file_location("bfcl", PROGRAM)
        assert spec is not None and spec.loader is not None
        loaded = module_from_spec(spec)
        spec.loader.exec_module(loaded)
    return loaded


@settings(max_examples=examples(150))
@given(value=VALUES, other=VALUES, seed=st.integers(0, 9))
def test_one_argument_of_any_kind_is_changed(
    program: Any, value: Any, other: Any, seed: int
) -> None:
    arguments = {"first": value}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("api", "tool", arguments),
        ("api", "tool", {"first": other}),
        ("api", "tool", {}),
    ]
    varied = [program.vary(arguments, calls, 0, Random(seed)) for _ in range(2)]
    assert varied[0] == varied[1]
    assert list(varied[0]) == ["first"]
    assert arguments == {"first": value}
    assert value in ([], "unknown") or varied[0] != arguments or abs(value) > 1e15
