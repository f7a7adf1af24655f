"""Files of `agentworld evidence`, side by side on one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.bench.endpoint_evidence import THINKING
from agentworld_sim.bench.run import figure_text, lines_of
from agentworld_sim.report.chart import chart
from agentworld_sim.report.html_page import Content, Markup, case, chip, filters, page, table, tag

FILTERS = {
    "all": "all calls",
    "failed": "wrong somewhere",
    "silent": "silently corrupt",
    "apart": "files differ",
    "known": "known tools",
    "unseen": "unseen tools",
}

Files = Mapping[str, Mapping[str, Any]]
"""What `bench.endpoint_evidence.read_evidence` gives, by the names they go by."""


def evidence_page(files: Files) -> str:
    """One HTML document; files that were asked different sets stand in different tables."""
    heads = ("file", "model", "server", "version", "prompts", "set", "doctor", "finished")
    sets: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, one in files.items():
        sets.setdefault(one["set"], {})[name] = one
    return page(
        "Imagined answers, measured",
        [tag("p", problem, class_="problem") for problem in differences(files)],
        table(heads, [[name, *_about(one)] for name, one in files.items()]),
        map(_set, sets.values()),
        tag("h2", "Every answer"),
        filters(FILTERS),
        map(_answers, sets.values()),
    )


def differences(files: Files) -> list[str]:
    """Why figures of the files cannot be compared as they are, a sentence each."""
    found = [f"{name} is not finished." for name, one in files.items() if not one["finished"]]
    for what in ("set", "version", "prompts"):
        if len({one[what] for one in files.values()}) > 1:
            told = ", ".join(f"{name}: {one[what]}" for name, one in files.items())
            found.append(f"The files differ in {what} ({told}).")
    return found


def _about(one: Mapping[str, Any]) -> list[str]:
    checks = one["doctor"]["checks"]
    kind = next((check["summary"] for check in checks if check["check"] == "kind"), "")
    server: dict[str, Any] = one["server"]
    told: dict[str, Any] = server.get("version") or server.get("api/version", {})
    failed = ", ".join(check["check"] for check in checks if check["verdict"] == "failed")
    doctor, finished = f"failed: {failed}" if failed else "ok", one["finished"] or "not yet"
    version = f"{kind} {told.get('version', '')}"
    return [one["model"], version, one["version"], one["prompts"], one["set"], doctor, finished]


def _set(files: Files) -> Markup:
    rungs: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, one in files.items():
        for rung in one["rungs"]:
            rungs.setdefault(rung["name"], {})[name] = rung
    columns = [(name, side) for name, one in files.items() for side in one["sides"]]
    # A file may not have come to every rung.
    none: Mapping[str, Any] = {"figures": {}}
    right = [
        [
            rung,
            *(figure_text(held.get(name, none), f"right, {side} tools") for name, side in columns),
        ]
        for rung, held in rungs.items()
    ]
    highest = [name for name in rungs if not name.startswith(THINKING)][-1:]
    every = [
        tag(
            "details",
            tag("summary", name),
            tag("p", next(iter(held.values()))["adds"], class_="soft"),
            table(("", *held), lines_of(held.values())),
            open=name in highest,
        )
        for name, held in rungs.items()
    ]
    return tag(
        "div",
        tag("h2", "Right, in percent with 95 % intervals"),
        table(("rung", *(f"{name}, {side} tools" for name, side in columns)), right),
        tag("div", _charts(files), class_="charts"),
        tag("h2", "Every figure"),
        every,
    )


def _charts(files: Files) -> Iterator[Markup]:
    sure: dict[str, Mapping[str, Any]] = {}
    budgets: dict[str, list[tuple[float, float]]] = {}
    for name, one in files.items():
        # The highest rung that tells how sure it is.
        for rung in [rung for rung in one["rungs"] if rung["auroc"] is not None][-1:]:
            sure[f"{name}: {rung['name']}, AUROC {rung['auroc']:.3f}"] = rung
        points = [
            (rung["cost"]["tokens written"], rung["right"])
            for rung in one["rungs"]
            if rung["name"].startswith(THINKING) and rung["cost"]
        ]
        if points:
            budgets[name] = sorted(points)
    if sure:
        lines = {name: rung["reliability"] for name, rung in sure.items()}
        even = {"as sure as right": [(0, 0), (100, 100)]}
        yield chart("Reliability", "confidence, %", "share right, %", lines | even)
        lines = {name: rung["coverage"] for name, rung in sure.items()}
        across = "calls whose answer is taken, %"
        yield chart("What a threshold buys", across, "right of these, %", lines)
    if budgets:
        yield chart("Limits of thinking", "tokens written for a call", "right, %", budgets)


def _answers(files: Files) -> Iterator[Markup]:
    given: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    questions: dict[str, Any] = {}
    for name, one in files.items():
        questions |= one["questions"]
        for rung in one["rungs"]:
            for row in rung["rows"]:
                given.setdefault(row["id"], []).append((name, rung["name"], row))
    for name, some in given.items():
        yield _call(questions[name], some)


def _call(asked: Mapping[str, Any], given: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Markup:
    verdicts: dict[str, list[tuple[str, bool]]] = {}
    answers: dict[tuple[str, str], tuple[list[str], Mapping[str, Any]]] = {}
    for file, rung, row in given:
        verdicts.setdefault(file, []).append((rung, row["right"]))
        who, _ = answers.setdefault((row["refused"], _answer_text(row)), ([], row))
        who.append(f"{file}: {rung}")
    rows = [row for _, _, row in given]
    right = sum(row["right"] for row in rows)
    kinds = {
        rows[0]["side"]: True,
        "failed": right < len(rows),
        "silent": any(row["silent"] and not row["refused"] for row in rows),
        "apart": any(one != verdicts[given[0][0]] for one in verdicts.values()),
    }
    call = f"{asked['name']} {json.dumps(asked.get('arguments', {}), ensure_ascii=False)}"
    return case(
        kinds,
        chip(f"{right} of {len(rows)} right", right == len(rows)),
        call,
        rows[0]["id"],
        tag("p", "The environment"),
        tag("pre", _answer_text(asked)),
        [_answer(who, row, said) for (_, said), (who, row) in answers.items()],
    )


def _answer(who: Iterable[str], row: Mapping[str, Any], said: str) -> Markup:
    people = tag("span", ", ".join(dict.fromkeys(who)), class_="soft")
    about: Content = [
        [chip(f"{name} {'right' if good else 'wrong'}", good), " "]
        for name, good in (("answer", row["score"]["value"]), ("state", row["score"]["state"]))
    ]
    if row["refused"]:
        about = tag("p", row["refused"], class_="problem")
    return tag("section", tag("p", people), about, tag("pre", said))


def _answer_text(one: Mapping[str, Any]) -> str:
    """An answer and what it changes; of a refused one, what the model wrote last."""
    if one.get("refused") and one["replies"]:
        return one["replies"][-1]["content"]
    text = f"(error) {one['text']}" if one["is_error"] else one["text"]
    changes = json.dumps(one["changes"], ensure_ascii=False, sort_keys=True, indent=1)
    return f"{text}\n\n{changes}" if one["changes"] else text
