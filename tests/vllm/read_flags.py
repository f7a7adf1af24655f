"""Says how an engine reads command lines; run by the interpreter that has the engine.

Takes a JSON list of arguments of `python` (`-m MODULE …` or `-c CODE …`) from stdin and writes one of what its own
parser made of each: the values, and what it did not know. Nothing is served.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
from collections.abc import Iterable
from typing import Any, NoReturn


class Read(BaseException):
    """Ends the engine's start when its command line was read."""


def read(
    self: argparse.ArgumentParser, args: Iterable[str] | None = None, namespace: Any = None
) -> NoReturn:
    # A flag of ours that is only the beginning of one of theirs may mean another one in the next version.
    self.allow_abbrev = False
    raise Read(*parse_known_args(self, None if args is None else list(args), namespace))


def start(arguments: list[str]) -> dict[str, Any]:
    """Starts the engine as `python ARGUMENTS` does, as far as its parser."""
    how, what, *rest = arguments
    os.environ.update(VARIABLES)
    sys.argv = [what, *rest]
    try:
        if how == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(what, {"__name__": "__main__"})  # noqa: S102 - the code that we hand to the engine
    except Read as end:
        values, unknown = end.args
        return {"values": vars(values), "unknown": unknown}
    except SystemExit as end:
        return {"values": {}, "unknown": [f"exit {end.code}"]}
    raise RuntimeError("the engine read no command line")


VARIABLES = dict(os.environ)
parse_known_args = argparse.ArgumentParser.parse_known_args
argparse.ArgumentParser.parse_known_args = read
told = [start(arguments) for arguments in json.load(sys.stdin)]
print("\n" + json.dumps(told, default=str))
