"""How well a pocket world model does, after each stage and on what.

Three sets: turns of held-out templates; of these, the turns that print something (many commands print
nothing, and that is easily right); and unseen sessions of the train templates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, cast

from agentworld_sim.imagination import PromptSet
from agentworld_sim.imagination.parsing import MARKER
from agentworld_sim.scoring import Message, PredictionSample
from agentworld_trainers.data import Document, read_rows, samples_of
from experiments.pocket.world import FRESH_FROM, PocketSessions
from experiments.pocket.world_tasks import TEST, TRAIN

SETS: Final[Mapping[str, str]] = {
    "held_out": "held-out templates",
    "held_out_printing": "… turns that print something",
    "unseen": "train templates, unseen sessions",
    "unseen_printing": "… turns that print something",
}

MEASURES: Final[Mapping[str, str]] = {
    "cpt-continued": "CPT, the history continued",
    "cpt": "CPT",
    "sft": "SFT",
    "rl": "RL",
}

HELD_OUT_SESSIONS: Final = 20
"""Of each held-out template."""

UNSEEN_SESSIONS: Final = 6
"""Of each train template."""

_T_975: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t for two-sided intervals of 95 %, by degrees of freedom from 1."""

_MOST_TOKENS: Final = 128


def fresh_samples(
    prompts: Path, *, trained: Path
) -> tuple[list[PredictionSample], list[PredictionSample]]:
    """Turns of held-out templates, and unseen turns of train templates.

    None of these sessions was ever looked at while a recipe was made, and no turn is among them that
    training has seen word for word.

    Args:
        prompts: The prompts of the wire form.
        trained: The folder of the data stage.
    """
    told = PromptSet.load(prompts)
    seen = {
        _conversation(row.messages[: at + 1])
        for row in read_rows(trained / "cpt.jsonl", Document)
        for at, message in enumerate(row.messages)
        if message["role"] == "user"
    }
    held_out, unseen = (
        [
            sample
            for source in PocketSessions(
                tuple((name, FRESH_FROM + n) for name in names for n in range(count)), 0
            )
            for sample in samples_of(source, prompts=told)
            if _conversation(sample.messages) not in seen
        ]
        for names, count in ((TEST, HELD_OUT_SESSIONS), (TRAIN, UNSEEN_SESSIONS))
    )
    return held_out, unseen


def _conversation(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(message["content"] for message in messages)


def measured(
    checkpoint: Path,
    held_out: Sequence[PredictionSample],
    unseen: Sequence[PredictionSample],
    *,
    thinking: bool = True,
) -> dict[str, Any]:
    """Counts of right answers, in the tag and read as a world reads them. [torch]

    Args:
        checkpoint: A stage's result.
        held_out: Turns of held-out templates.
        unseen: Turns of train templates.
        thinking: Whether the model thinks first.
    """
    from agentworld_trainers.stages import evaluate

    samples = [*held_out, *unseen]
    report = evaluate(checkpoint, samples, thinking=thinking, max_tokens=_MOST_TOKENS)
    right = [(one.exact, one.form) for one in report.outcomes]
    return _counted(samples, right, len(held_out))


def continued(
    checkpoint: Path, held_out: Sequence[PredictionSample], unseen: Sequence[PredictionSample]
) -> dict[str, Any]:
    """The same, where the model goes on with the conversation as continued pre-training showed it: an
    observation behind its marker, without thinking and tag. There is no form to be valid. [torch]
    """
    from agentworld_trainers.in_process_policy import InProcessPolicy
    from agentworld_trainers.recipes import ModelPart
    from agentworld_trainers.stages import load_model, load_tokenizer

    model, tokenizer = load_model(checkpoint), load_tokenizer(ModelPart(path=str(checkpoint)))
    end: Any = tokenizer.eos_token_id
    policy = InProcessPolicy(model, stop_ids=(end,), temperature=0.0)
    samples = [*held_out, *unseen]
    opening = f"<|im_start|>assistant\n{MARKER}\n"
    prompts: list[tuple[int, ...]] = []
    for sample in samples:
        messages = [{**message} for message in sample.messages]
        text = str(cast(Any, tokenizer).apply_chat_template(messages, tokenize=False))
        prompts.append(tuple(tokenizer.encode(text + opening, add_special_tokens=False)))
    answers = [tokenizer.decode(ids) for ids in _written(policy, prompts, end)]
    right = [
        (answer == one.observation, False) for answer, one in zip(answers, samples, strict=True)
    ]
    return _counted(samples, right, len(held_out))


def _written(policy: Any, prompts: Sequence[tuple[int, ...]], end: int) -> list[list[int]]:
    import asyncio

    from agentworld_sim.rollouts import Completion

    async def all_of_them() -> list[Completion]:
        asked = (policy.complete(prompt, max_tokens=_MOST_TOKENS, seed=0) for prompt in prompts)
        return list(await asyncio.gather(*asked))

    return [[one for one in done.token_ids if one != end] for done in asyncio.run(all_of_them())]


def _counted(
    samples: Sequence[PredictionSample], right: Sequence[tuple[bool, bool]], held_out: int
) -> dict[str, Any]:
    """Counts by set, and of the held-out ones by template."""
    scored = list(zip(samples, right, strict=True))
    sets = {
        "held_out": scored[:held_out],
        "unseen": scored[held_out:],
    }
    sets |= {
        f"{name}_printing": [x for x in rows if x[0].observation] for name, rows in sets.items()
    }

    def counts(rows: list[tuple[PredictionSample, tuple[bool, bool]]]) -> dict[str, int]:
        return {
            "exact": sum(exact for _, (exact, _) in rows),
            "form": sum(form for _, (_, form) in rows),
            "of": len(rows),
        }

    tasks = sorted({sample.task for sample, _ in sets["held_out"]})
    return {
        **{name: counts(sets[name]) for name in SETS},
        "templates": {
            task: counts([row for row in sets["held_out"] if row[0].task == task]) for task in tasks
        },
    }


def interval(shares: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its interval of 95 %, by Student's t over seeds."""
    if len(shares) < 2:
        return fmean(shares), math.nan
    half = _T_975[len(shares) - 2] * stdev(shares) / math.sqrt(len(shares))
    return fmean(shares), half


def shares(scores: Mapping[str, Any], measure: str, name: str, what: str) -> list[float]:
    """One share per seed."""
    rows = [one["measures"][measure][name] for one in scores["seeds"].values()]
    return [row[what] / row["of"] for row in rows]


def table(scores: Mapping[str, Any]) -> str:
    """The scores as a table in Markdown: mean over seeds, in per cent, and its interval of 95 %."""
    lines = [
        "| | " + " | ".join(MEASURES.values()) + " |",
        "|---|" + "---|" * len(MEASURES),
    ]

    def cell(measure: str, name: str, what: str) -> str:
        if what == "form" and measure == "cpt-continued":
            return "-"
        mean, half = interval(shares(scores, measure, name, what))
        return f"{100 * mean:.1f}" + ("" if math.isnan(half) else f" ± {100 * half:.1f}")

    for name, title in SETS.items():
        lines.append(
            f"| exact: {title} | " + " | ".join(cell(m, name, "exact") for m in MEASURES) + " |"
        )
    for name in ("held_out", "unseen"):
        title = SETS[name]
        lines.append(
            f"| form valid: {title} | " + " | ".join(cell(m, name, "form") for m in MEASURES) + " |"
        )
    return "\n".join(lines)


def draw(scores: Mapping[str, Any], path: Path) -> None:
    """Draws exact accuracy after each stage, a point for each seed. Needs matplotlib.

    Continued pre-training is drawn as it continues a history: it has never seen the tag.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    drawn = {"cpt-continued": "CPT (history continued)", "sft": "SFT", "rl": "RL"}
    places = list(range(len(drawn)))
    for colour, (name, title) in zip(
        ("C0", "C1"),
        (
            ("held_out_printing", "held-out templates"),
            ("unseen_printing", "train templates, unseen sessions"),
        ),
        strict=True,
    ):
        found = [shares(scores, measure, name, "exact") for measure in drawn]
        axes.plot(places, [100 * fmean(one) for one in found], color=colour, label=title)
        for place, one in zip(places, found, strict=True):
            axes.plot([place] * len(one), [100 * share for share in one], ".", color=colour)
    axes.set_xticks(places, list(drawn.values()))
    axes.set_xlim(-0.3, len(drawn) - 0.7)
    axes.set_ylabel("exactly right, % of the turns that print something")
    axes.set_ylim(0, 100)
    axes.legend()
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, format="png", dpi=100, metadata={"Software": None})
    partial.replace(path)
