"""The data stage: files of rows, the same bytes every time, train and evaluation apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data import Demonstration, Document, read_rows
from agentworld_trainers.data._rows import read_trained_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, make_data

HERE = "tests.trainers.data.sources"
FILES = ("cpt.jsonl", "sft.jsonl", "rl.jsonl", "eval.jsonl", "masking.json", "filter_counts.json")


def recipe_of(folder: Path, **data: Any) -> Recipe:
    chosen = {
        "source": f"{HERE}:trajectories",
        "settings": {"count": 8, "fixed": "task-1"},
        "near_duplicate": 1.0,
    }
    return Recipe.model_validate(
        {"name": "test", "seed": 5, "output": str(folder), "data": chosen | data}
    )


def made(folder: Path, **data: Any) -> Path:
    recipe = recipe_of(folder, **data)
    return make_data(recipe, Run(recipe))


def samples(path: Path) -> list[PredictionSample]:
    return list(read_rows(path, PredictionSample))


def test_every_file_is_written_and_the_same_recipe_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    for name in (*FILES, "masking.html", "filter_counts.txt"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
        assert (one / name).stat().st_size > 0, name


def test_no_task_and_no_sample_is_both_in_training_and_in_evaluation(tmp_path: Path) -> None:
    data = made(tmp_path)
    trained, held_out = samples(data / "sft.jsonl"), samples(data / "eval.jsonl")
    assert "task-1" in {one.task for one in held_out}
    assert not {one.task for one in trained} & {one.task for one in held_out}
    assert not {one.id for one in trained} & {one.id for one in held_out}
    documents = list(read_rows(data / "cpt.jsonl", Document))
    assert {one.task for one in documents} == {one.task for one in trained}


@pytest.mark.parametrize("near_duplicate", [0.9, 1.0])
def test_a_longer_session_does_not_tell_what_is_held_out(
    tmp_path: Path, near_duplicate: float
) -> None:
    data = made(tmp_path, source=f"{HERE}:forks", near_duplicate=near_duplicate)
    assert [one.turn for one in samples(data / "eval.jsonl")] == [1, 2, 3]
    assert min(one.turn for one in samples(data / "sft.jsonl")) == 4
    assert min(one.turn for one in samples(data / "rl.jsonl")) > 3
    (document,) = read_rows(data / "cpt.jsonl", Document)
    assert document.keep[:3] == (0.0, 0.0, 0.0) and all(document.keep[3:])


def test_a_limit_of_samples_per_task_holds_for_both_pools_and_not_for_documents(
    tmp_path: Path,
) -> None:
    whole = made(tmp_path / "whole")
    data = made(tmp_path / "limited", samples_per_task=1)
    for name in ("sft.jsonl", "rl.jsonl"):
        tasks = [one.task for one in samples(data / name)]
        assert sorted(tasks) == sorted({one.task for one in samples(whole / name)})
        assert {one.id for one in samples(data / name)} <= {one.id for one in samples(whole / name)}
    for name in ("cpt.jsonl", "eval.jsonl"):
        assert (data / name).read_bytes() == (whole / name).read_bytes()
    assert "samples beyond `samples_per_task`" in (data / "filter_counts.txt").read_text()


def test_what_is_kept_for_reinforcement_learning_is_not_imitated(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole")
    data = made(tmp_path / "divided", reinforced=0.5)
    told, rewarded = (
        {one.trajectory for one in samples(data / name)} for name in ("sft.jsonl", "rl.jsonl")
    )
    assert told and rewarded and not told & rewarded
    assert told | rewarded == {one.trajectory for one in samples(whole / "sft.jsonl")}
    assert not samples(made(tmp_path / "none", reinforced=0.0) / "rl.jsonl")
    for name in ("cpt.jsonl", "eval.jsonl"):
        assert (data / name).read_bytes() == (whole / name).read_bytes()


def test_the_pool_for_reinforcement_learning_has_one_turn_of_each_trajectory(
    tmp_path: Path,
) -> None:
    data = made(tmp_path)
    single, trained = samples(data / "rl.jsonl"), samples(data / "sft.jsonl")
    assert len(single) == len({one.trajectory for one in single})
    assert {one.trajectory for one in single} == {one.trajectory for one in trained}
    assert {one.id for one in single} < {one.id for one in trained}
    assert len({one.turn for one in single}) > 1


def test_thinking_of_the_source_stands_in_the_rows(tmp_path: Path) -> None:
    data = made(tmp_path)
    thinking = {(one.turn, one.thinking) for one in samples(data / "sft.jsonl")}
    assert (2, "It was just written.") in thinking
    assert (1, "") in thinking


def test_documents_keep_a_fraction_of_each_answer(tmp_path: Path) -> None:
    data = made(tmp_path)
    for document in read_rows(data / "cpt.jsonl", Document):
        answers = [one for one in document.messages if one["role"] == "assistant"]
        assert len(answers) == len(document.keep) == 3
        assert set(document.keep) <= {0.05, 0.1, 0.5, 1.0}
    report = json.loads((data / "masking.json").read_text())
    assert report["turns"] == 3 * sum(1 for _ in read_rows(data / "cpt.jsonl", Document))


def test_the_counts_of_filters_add_up(tmp_path: Path) -> None:
    data = made(tmp_path, near_duplicate=0.6)
    counts = json.loads((data / "filter_counts.json").read_text())
    left = counts["steps"][-1]["samples_left"]
    assert counts["samples"] == 24
    assert left == counts["rows"]["sft"] + counts["rows"]["eval"] < 24
    dropped = {step["step"]: step["samples"] for step in counts["steps"]}
    assert 24 - sum(dropped.values()) == left
    table = (data / "filter_counts.txt").read_text()
    assert "nearly equal to an earlier one" in table
    assert "like " in table


def test_demonstrations_of_training_tasks_stand_behind_the_samples(tmp_path: Path) -> None:
    data = made(tmp_path, source=f"{HERE}:with_demonstrations")
    lines = [json.loads(line) for line in (data / "sft.jsonl").read_text().splitlines()]
    shown = [Demonstration.from_json(one) for one in lines if "observation" not in one]
    assert lines[-len(shown) :] == [one.to_json() for one in shown]
    assert "task-1" not in {one.task for one in shown}
    assert {one.task for one in shown} <= {one.task for one in samples_of_lines(lines)}


def samples_of_lines(lines: list[dict[str, Any]]) -> list[PredictionSample]:
    return [PredictionSample.from_json(one) for one in lines if "observation" in one]


def test_a_tokenizer_is_trained_on_the_texts_of_training_rows_alone(tmp_path: Path) -> None:
    data = made(tmp_path, tokenizer=f"{HERE}:tokenizer", tokenizer_settings={"size": 1_000_000})
    words = set(json.loads((data / "tokenizer" / "words.json").read_text()))
    held_out = {word for one in samples(data / "eval.jsonl") for word in one.observation.split()}
    trained = {word for one in samples(data / "sft.jsonl") for word in one.observation.split()}
    assert trained <= words
    assert not (held_out - trained) & words


def test_what_is_made_is_left_as_it_is_and_made_anew_when_asked(tmp_path: Path) -> None:
    data = made(tmp_path)
    (data / "sft.jsonl").write_text("mine\n")
    made(tmp_path)
    assert (data / "sft.jsonl").read_text() == "mine\n"
    recipe = recipe_of(tmp_path)
    make_data(recipe, Run(recipe, fresh=True))
    assert (data / "sft.jsonl").read_text() != "mine\n"


def test_another_seed_draws_other_turns(tmp_path: Path) -> None:
    recipes = [
        recipe_of(tmp_path / str(seed), settings={"count": 8}).model_copy(update={"seed": seed})
        for seed in (5, 6)
    ]
    one, two = (make_data(recipe, Run(recipe)) for recipe in recipes)
    assert [s.turn for s in samples(one / "rl.jsonl")] != [
        s.turn for s in samples(two / "rl.jsonl")
    ]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"source": f"{HERE}:wrong"}, "gave int as number 1"),
        ({"source": f"{HERE}:nothing"}, "returned int"),
        ({"source": f"{HERE}:trajectorys"}, "Did you mean 'trajectories'"),
        ({"source": "files", "settings": {}}, "data.files is empty"),
        ({"source": "files", "settings": {}, "files": ["no-such-*"]}, "matches no file"),
        ({"source": "files", "settings": {"taks": "file"}}, "Did you mean 'task'"),
        ({"prompts": "no/such/folder"}, "no folder of prompts"),
        ({"min_turns": 9}, "no training rows are left of 8 trajectories with 24 turns"),
        ({"tokenizer": f"{HERE}:nothing", "tokenizer_settings": {"seed": 1}}, "save_pretrained"),
    ],
)
def test_bad_input_is_told_and_leaves_no_finished_stage(
    tmp_path: Path, data: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        made(tmp_path, **data)
    assert told in str(caught.value)
    assert not (tmp_path / "data" / "filter_counts.json").exists()
    assert not list(tmp_path.rglob("*.partial"))
    assert made(tmp_path).is_dir(), "with the mistake corrected it goes on at once"


def test_a_disk_that_cannot_be_written_is_our_failure_and_not_the_users(tmp_path: Path) -> None:
    (tmp_path / "data" / "rl.jsonl.partial").mkdir(parents=True)
    with pytest.raises(WorldFailure, match="cannot be written"):
        made(tmp_path)
    assert (tmp_path / "data" / "sft.jsonl").exists()
    assert not (tmp_path / "data" / "filter_counts.json").exists()


@pytest.mark.parametrize(
    ("mood", "told"),
    [("raises", r"sources\.py, line \d+: KeyError: 'mood'$"), ("leaves", "SystemExit: 3$")],
)
def test_a_source_that_breaks_is_named_with_its_line(tmp_path: Path, mood: str, told: str) -> None:
    with pytest.raises(UsageError, match="data source .*of_changing_moods' failed: .*" + told):
        made(tmp_path, source=f"{HERE}:of_changing_moods", settings={"mood": mood})
    # Nothing stands on it: the corrected recipe is taken.
    assert (made(tmp_path) / "filter_counts.json").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"messages": "abc"}, "'messages' is str, and must be a list"),
        ({"messages": []}, "'messages' is empty"),
        ({"messages": [1]}, "'messages' holds int"),
        ({"messages": [{"role": "user"}]}, "a message without a content"),
        ({"observation": 5}, "'observation' is int, and must be a text"),
        ({"thinking": None}, "'thinking' is NoneType"),
        ({"turn": "1"}, "'turn' is str"),
        ({"domain": "swee"}, "'swee'. Did you mean 'swe'?"),
        ({"evidence": []}, "'evidence' is list"),
        ({"taskk": "x"}, "no 'taskk'. Did you mean 'task'?"),
    ],
)
def test_a_row_with_a_wrong_value_is_named(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    row = {"id": "i", "task": "t", "trajectory": "r", "turn": 1, "domain": "swe"}
    row |= {"messages": [{"role": "user", "content": "ls"}], "observation": "a"}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | changes) + "\n")
    with pytest.raises(UsageError, match="line 2: ") as raised:
        list(read_rows(path, PredictionSample))
    assert told in str(raised.value)


def test_a_file_that_was_not_written_whole_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "i", "mess')
    with pytest.raises(UsageError, match=r"line 1: not JSON .*The line has no end"):
        list(read_trained_rows(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        list(read_rows(path, PredictionSample))
    path.write_text("[1, 2]\n")
    with pytest.raises(UsageError, match="line 1: list is no row"):
        list(read_trained_rows(path))


def test_a_prediction_without_its_target_passes_for_no_demonstration(tmp_path: Path) -> None:
    path = tmp_path / "sft.jsonl"
    row = {"id": "i", "task": "t", "trajectory": "r", "turn": 1, "domain": "swe"}
    path.write_text(json.dumps(row | {"messages": [{"role": "user", "content": "ls"}]}) + "\n")
    with pytest.raises(UsageError, match="the PredictionSample has no 'observation'"):
        list(read_trained_rows(path))
