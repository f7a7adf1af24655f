"""Trials of replay transfer on one page: figures, and every trial that ended or was answered otherwise outside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.bench.transfer.transfer_figures import CELLS
from agentworld_sim.bench.transfer.transfer_run import Trial
from agentworld_sim.report.html_page import Content, Markup, case, chip, filters, page, table, tag

HEADS = ("trials", "inside", "outside", "ratio", *CELLS)
FILTERS = {
    "all": "all that differ",
    "worst": "passed inside only",
    "computed": "computed",
    "text": "text",
    "imagined": "imagined",
}


def transfer_page(figures: Mapping[str, Any], trials: Sequence[Trial]) -> str:
    """One HTML document.

    Args:
        figures: What `bench.transfer.transfer_figures` gives.
        trials: All of them; those that ended and were answered alike are counted only.
    """
    apart = [one for one in trials if one.divergence or bool(one.inside) != bool(one.outside)]
    return page(
        "Replay transfer",
        [
            (table((engine, *HEADS), lines_of(found)), tag("p", ranks_of(found)))
            for engine, found in figures.items()
        ],
        tag("h2", f"What differed: {len(apart)} of {len(trials)} trials"),
        filters(FILTERS),
        map(_trial, apart),
    )


def lines_of(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """The figures of an engine as rows: a name, and what `HEADS` names."""
    yield ["all", *_cells(found)]
    for part in ("agents", "kinds"):
        for name, one in found[part].items():
            yield [name, *_cells(one)]


def ranks_of(found: Mapping[str, Any]) -> str:
    """Whether the engine ranks the agents as the real thing does, and how often it answers otherwise."""
    tau = found["tau"]
    ranks = f"{tau['value']:.2f} [{tau['low']:.2f}, {tau['high']:.2f}]" if tau else "one agent only"
    return f"Kendall's τ {ranks}; {found['diverged']} trials answered otherwise"


def _cells(one: Mapping[str, Any]) -> list[str]:
    ratio = "" if one["ratio"] is None else f"{one['ratio']:.3f}"
    shares = [f"{100 * one[name]:.1f} %" for name in ("inside", "outside")]
    return [str(one["trials"]), *shares, ratio, *(str(one["cells"][cell]) for cell in CELLS)]


def _trial(one: Trial) -> Markup:
    worst = not one.inside and bool(one.outside)
    return case(
        {one.engine: True, "worst": worst},
        chip("passed inside only" if worst else "answered otherwise", not worst),
        one.task,
        f"{one.engine}, {one.agent}",
        list(_sides(one)),
    )


def _sides(one: Trial) -> Iterator[Content]:
    for name, problems in (("Inside", one.inside), ("Outside", one.outside)):
        yield tag("p", f"{name}: {'; '.join(problems) or 'passed'}")
    if one.divergence is not None:
        found = one.divergence
        yield tag("p", f"First apart at call {found['step']}: {_text(found['call'])}")
        for name in ("inside", "outside"):
            yield tag("pre", f"{name}\n{_text(found[name])}")
        if found["difference"]:
            yield tag("pre", f"what it changed inside\n{found['difference']}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
