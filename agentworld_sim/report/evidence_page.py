"""Files of `agentworld evidence`, side by side on one page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from agentworld_sim.bench.endpoint_evidence import THINKING
from agentworld_sim.bench.run import Figure
from agentworld_sim.report.chart import chart
from agentworld_sim.report.html_page import Markup, filters, page, tag

DIFF_WORDS = 3000
"""A longer answer is shown without what differs in it: to find that takes the square of its length."""

FILTERS = {
    "all": "all calls",
    "failed": "wrong somewhere",
    "silent": "silently corrupt",
    "apart": "files differ",
    "known": "known tools",
    "unseen": "unseen tools",
}
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)

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
        _table("", heads, [[name, *_about(one)] for name, one in files.items()]),
        map(_set, sets.values()),
        tag("h2", "Every answer"),
        filters(FILTERS),
        tag("p", tag("del", "Missing"), " and ", tag("ins", "too much"), " words.", class_="soft"),
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
    heads = ("rung", *(f"{name}, {side} tools" for name, side in columns))
    right = [
        [rung, *(_figure(held.get(name), side, "right") for name, side in columns)]
        for rung, held in rungs.items()
    ]
    highest = [name for name in rungs if not name.startswith(THINKING)][-1:]
    figures = [_every_figure(name, held, name in highest) for name, held in rungs.items()]
    return tag(
        "div",
        _table("Right, in percent with 95 % intervals", heads, right),
        tag("div", _charts(files), class_="charts"),
        tag("h2", "Every figure"),
        figures,
    )


def _figure(rung: Mapping[str, Any] | None, side: str, name: str) -> str:
    found = rung and rung["figures"].get(side, {}).get(name)
    return str(Figure(**found)) if found and found["count"] else ""


def _every_figure(name: str, held: Files, is_open: bool) -> Markup:
    rungs = list(held.values())
    rows = [
        [f"{what}, {side} tools", *(_figure(rung, side, what) for rung in rungs)]
        for side, figures in rungs[0]["figures"].items()
        for what in figures
    ]
    rows.append(["AUROC of confidence", *(_number(rung["auroc"]) for rung in rungs)])
    for what in dict.fromkeys(what for rung in rungs for what in rung["cost"]):
        rows.append([f"{what}, a call", *(_number(rung["cost"].get(what)) for rung in rungs)])
    about = tag("p", rungs[0]["adds"], class_="soft")
    inside = (tag("summary", name), about, _table("", ("", *held), rows))
    return tag("details", inside, open=is_open)


def _charts(files: Files) -> list[Markup]:
    sure: dict[str, Mapping[str, Any]] = {}
    budgets: dict[str, list[tuple[float, float]]] = {}
    for name, one in files.items():
        for rung in one["rungs"]:
            if rung["auroc"] is not None:
                # The highest rung that tells how sure it is stays.
                sure[name] = rung
            if rung["name"].startswith(THINKING) and rung["cost"]:
                point = (rung["cost"]["tokens written"], rung["right"])
                budgets.setdefault(name, []).append(point)
    legends = {
        name: f"{name}: {rung['name']}, AUROC {rung['auroc']:.3f}" for name, rung in sure.items()
    }
    found: list[Markup] = []
    for title, key, *labels in (
        ("Reliability", "reliability", "confidence, %", "share right, %"),
        (
            "What a threshold buys",
            "coverage",
            "calls whose answer is taken, %",
            "right of these, %",
        ),
    ):
        lines = {legends[name]: rung[key] for name, rung in sure.items()}
        even = key == "reliability"
        found += [chart(title, (labels[0], labels[1]), lines, even=even)] if lines else []
    if budgets:
        most = max(x for line in budgets.values() for x, _ in line)
        lines = {name: sorted(line) for name, line in budgets.items()}
        axes = ("tokens written for a call", "right, %")
        found.append(chart("Limits of thinking", axes, lines, most_x=most))
    return found


def _answers(files: Files) -> list[Markup]:
    given: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    questions: dict[str, Any] = {}
    for name, one in files.items():
        questions |= one["questions"]
        for rung in one["rungs"]:
            for row in rung["rows"]:
                given.setdefault(row["id"], []).append((name, rung["name"], row))
    return [_question(questions[name], held) for name, held in given.items()]


def _question(
    asked: Mapping[str, Any], given: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> Markup:
    truth = (asked["text"], _text_of(asked["changes"]))
    verdicts: dict[str, list[tuple[str, bool]]] = {}
    answers: dict[tuple[str, ...], tuple[list[str], Mapping[str, Any]]] = {}
    for file, rung, row in given:
        verdicts.setdefault(file, []).append((rung, row["right"]))
        said = row["replies"][-1]["content"] if row["refused"] and row["replies"] else row["text"]
        answer = (row["refused"], said, _text_of(row["changes"]))
        answers.setdefault(answer, ([], row))[0].append(f"{file}: {rung}")
    rows = [row for _, _, row in given]
    right = sum(row["right"] for row in rows)
    is_one = all(one == verdicts[given[0][0]] for one in verdicts.values())
    kinds = {
        rows[0]["side"]: True,
        "failed": right < len(rows),
        "silent": any(row["silent"] and not row["refused"] for row in rows),
        "apart": not is_one,
    }
    call = f"{asked['tool']} {json.dumps(asked['arguments'], ensure_ascii=False)}"
    summary = (
        _chip(f"{right} of {len(rows)} right", right == len(rows)),
        tag("span", call, class_="name mono"),
        tag("span", rows[0]["id"], class_="soft"),
    )
    inside = (
        tag("p", "The environment ", _chip("error", False) if asked["is_error"] else ""),
        [tag("pre", part) for part in truth if part],
        [_answer(who, row, answer, truth) for answer, (who, row) in answers.items()],
    )
    classes = " ".join(["case", *(kind for kind, holds in kinds.items() if holds)])
    return tag("details", tag("summary", summary), tag("div", inside), class_=classes)


def _answer(
    who: Iterable[str], row: Mapping[str, Any], answer: Sequence[str], truth: Sequence[str]
) -> Markup:
    refused, *said = answer
    people = tag("span", ", ".join(dict.fromkeys(who)), class_="soft")
    if refused:
        return tag(
            "section", tag("p", people), tag("p", refused, class_="problem"), tag("pre", said[0])
        )
    parts = {"answer": row["score"]["value"], "state": row["score"]["state"]}
    chips = [
        [_chip(f"{name} {'right' if good else 'wrong'}", good), " "] for name, good in parts.items()
    ]
    # What is the environment's to the letter stands above.
    texts = [_diff(*pair) for pair in zip(truth, said, strict=True) if pair[0] != pair[1]]
    return tag("section", tag("p", chips, people), [tag("pre", text) for text in texts])


def _diff(truth: str, given: str) -> Iterable[str]:
    """The answer, with what is missing and what is too much marked."""
    left, right = _WORDS.findall(truth), _WORDS.findall(given)
    if max(len(left), len(right)) > DIFF_WORDS:
        yield given
        return
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "".join(right[c:d])
            continue
        yield tag("del", "".join(left[a:b])) if b > a else ""
        yield tag("ins", "".join(right[c:d])) if d > c else ""


def _text_of(changes: Mapping[str, Any]) -> str:
    return json.dumps(changes, ensure_ascii=False, sort_keys=True, indent=1) if changes else ""


def _chip(text: str, good: bool) -> Markup:
    return tag("span", text, class_=f"chip {'met' if good else 'missed'}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    lines = [tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    head = tag("tr", [tag("th", cell) for cell in heads])
    return tag("section", tag("h2", title) if title else "", tag("table", head, lines))
