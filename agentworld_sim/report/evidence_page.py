"""Files of `agentworld evidence`, side by side on one page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from agentworld_sim.bench.evidence import THINKING
from agentworld_sim.bench.run import Figure
from agentworld_sim.report.chart import chart
from agentworld_sim.report.html_page import Markup, filters, page, tag

DIFF_WORDS = 3000
"""A longer answer is shown without what differs in it: to find that takes the square of its length."""

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)

_FILTERS = {
    **{"all": "all calls", "failed": "wrong somewhere", "silent": "silently corrupt"},
    **{"apart": "files differ", "known": "known tools", "unseen": "unseen tools"},
}
_WHAT = ("file", "model", "server", "version", "prompts", "set", "doctor", "finished")

Files = Mapping[str, Mapping[str, Any]]
"""What `bench.evidence.read_evidence` gives, by the names they go by."""


def evidence_page(files: Files) -> str:
    """One HTML document; files that were asked different sets stand in different tables."""
    sets = dict.fromkeys(one["set"] for one in files.values())
    return page(
        "Imagined answers, measured",
        [tag("p", problem, class_="problem") for problem in differences(files)],
        _table("", _WHAT, [[name, *_about(one)] for name, one in files.items()]),
        filters(_FILTERS),
        [_set({name: one for name, one in files.items() if one["set"] == some}) for some in sets],
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
    server = one["server"]
    kind = next((model.get("owned_by", "") for model in server["models"]), "")
    told = server.get("version") or server.get("api/version") or {}
    failed = [check["check"] for check in one["doctor"]["checks"] if check["verdict"] == "failed"]
    return [
        *(one["model"], f"{kind} {told.get('version', '')}", one["version"], one["prompts"], one["set"]),
        *(f"failed: {', '.join(failed)}" if failed else "ok", one["finished"] or "not yet"),
    ]


def _set(files: Files) -> Markup:
    rungs: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, one in files.items():
        for rung in one["rungs"]:
            rungs.setdefault(rung["name"], {})[name] = rung
    columns = [(name, side) for name, one in files.items() for side in one["sides"]]
    right = [
        [rung, *(_figure(held.get(name), side, "right") for name, side in columns)]
        for rung, held in rungs.items()
    ]
    heads = ("rung", *(f"{name}, {side} tools" for name, side in columns))
    *_, highest = (rung for rung in rungs if not rung.startswith(THINKING))
    return tag(
        "div",
        _table("Right, in percent with 95 % intervals", heads, right),
        tag("div", _charts(files), class_="charts"),
        tag("h2", "Every figure"),
        [_every_figure(name, held, name == highest) for name, held in rungs.items()],
        tag("h2", "Every answer"),
        _answers(files),
    )


def _figure(rung: Mapping[str, Any] | None, side: str, name: str) -> str:
    found = rung and rung["figures"].get(side, {}).get(name)
    return str(Figure(**found)) if found and found["count"] else ""


def _every_figure(name: str, held: Files, is_open: bool) -> Markup:
    rungs = held.values()
    rows = [
        [what, side, *(_figure(rung, side, what) for rung in rungs)]
        for side in dict.fromkeys(side for rung in rungs for side in rung["figures"])
        for what in dict.fromkeys(what for rung in rungs for what in rung["figures"].get(side, {}))
    ]
    rows.append(["AUROC of confidence", "", *(_number(rung["auroc"]) for rung in rungs)])
    for what in dict.fromkeys(what for rung in rungs for what in rung["cost"]):
        rows.append([what, "a call", *(_number(rung["cost"].get(what)) for rung in rungs)])
    about = next(iter(rungs))["adds"]
    inside = [tag("p", about, class_="soft"), _table("", ("", "tools", *held), rows)]
    return tag("details", tag("summary", name), inside, open=is_open)


def _charts(files: Files) -> list[Markup]:
    sure: dict[str, Mapping[str, Any]] = {}
    budgets: dict[str, list[tuple[float, float]]] = {}
    for name, one in files.items():
        for rung in one["rungs"]:
            if rung["name"].startswith(THINKING) and rung["cost"]:
                point = (rung["cost"]["tokens written"], rung["right"])
                budgets[name] = sorted([*budgets.get(name, []), point])
            elif rung["auroc"] is not None:
                # The highest rung that tells how sure it is.
                sure = {**sure, name: rung}
    found: list[Markup] = []
    for title, axes, key in (
        ("Reliability", ("confidence, %", "share right, %; on the diagonal as sure as right"), "reliability"),
        ("What a threshold buys", ("calls whose answer is taken, %", "share right of these, %"), "coverage"),
    ):  # fmt: skip
        lines = {
            f"{name}: {rung['name']}, AUROC {_number(rung['auroc'])}": rung[key]
            for name, rung in sure.items()
        }
        found += [chart(title, axes, lines, diagonal=key == "reliability")] if lines else []
    if budgets:
        most = max(x for line in budgets.values() for x, _ in line)
        axes = ("tokens written for a call", "right, %")
        found.append(chart("Limits of thinking", axes, budgets, most_x=most))
    return found


def _answers(files: Files) -> list[Markup]:
    given: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for name, one in files.items():
        for rung in one["rungs"]:
            for row in rung["rows"]:
                given.setdefault(row["id"], []).append((name, rung["name"], row))
    questions = next(iter(files.values()))["questions"]
    return [_question(questions[name], held) for name, held in given.items()]


def _question(
    asked: Mapping[str, Any], given: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> Markup:
    rows = [row for _, _, row in given]
    right = sum(row["right"] for row in rows)
    by_file = {file: sorted((rung, row["right"]) for one, rung, row in given if one == file)
               for file, _, _ in given}  # fmt: skip
    kinds = ["case", rows[0]["side"]]
    kinds += ["failed"] if right < len(rows) else []
    kinds += ["silent"] if any(row["silent"] and not row["refused"] for row in rows) else []
    kinds += ["apart"] if any(one != by_file[given[0][0]] for one in by_file.values()) else []
    truth = (asked["text"], _text_of(asked["changes"]))
    answers: dict[tuple[str, ...], list[str]] = {}
    verdicts: dict[tuple[str, ...], Mapping[str, bool]] = {}
    for file, rung, row in given:
        answer = (row["refused"], row["text"], _text_of(row["changes"]))
        answers.setdefault(answer, []).append(f"{file}: {rung}")
        verdicts[answer] = {"answer": row["score"]["value"], "state": row["score"]["state"]}
    call = f"{asked['tool']} {json.dumps(asked['arguments'], ensure_ascii=False)}"
    inside = [
        tag("p", "The environment", _chip("error", False) if asked["is_error"] else ""),
        *(tag("pre", part) for part in truth if part),
        [_answer(who, answer, truth, verdicts[answer]) for answer, who in answers.items()],
    ]
    summary = tag(
        "summary",
        _chip(f"{right} of {len(rows)} right", right == len(rows)),
        tag("span", call, class_="name mono"),
        tag("span", rows[0]["id"], class_="soft"),
    )
    return tag("details", summary, tag("div", inside), class_=" ".join(kinds))


def _answer(
    who: Iterable[str], answer: Sequence[str], truth: Sequence[str], verdicts: Mapping[str, bool]
) -> Markup:
    refused, *said = answer
    if refused:
        return tag("section", tag("p", ", ".join(who), class_="soft"), tag("p", refused, class_="problem"))
    chips = [_chip(f"{part} {'right' if good else 'wrong'}", good) for part, good in verdicts.items()]
    # What is the environment's to the letter stands above.
    parts = [tag("pre", _diff(*pair)) for pair in zip(truth, said, strict=True) if pair[0] != pair[1]]
    return tag("section", tag("p", chips, tag("span", ", ".join(who), class_="soft")), parts)


def _diff(truth: str, given: str) -> list[str]:
    """The answer, with what is missing and what is too much marked."""
    left, right = _WORDS.findall(truth), _WORDS.findall(given)
    if max(len(left), len(right)) > DIFF_WORDS:
        return [given]
    found: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        missing, more = "".join(left[a:b]), "".join(right[c:d])
        same = kind == "equal"
        found += [more] if same else [tag("del", missing) if missing else "", tag("ins", more) if more else ""]
    return found


def _text_of(changes: Mapping[str, Any]) -> str:
    return json.dumps(changes, ensure_ascii=False, sort_keys=True, indent=1) if changes else ""


def _chip(text: str, good: bool) -> Markup:
    return Markup(tag("span", text, class_=f"chip {'met' if good else 'missed'}") + " ")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    lines = [tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    head = tag("tr", [tag("th", cell) for cell in heads])
    return tag("section", tag("h2", title) if title else "", tag("table", head, lines))
