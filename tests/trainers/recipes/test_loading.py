"""Recipes are loaded, changed, refused and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes import (
    Recipe,
    RecipeError,
    canonical_toml,
    load_recipe,
    recipe_digest,
    shipped_recipes,
)
from agentworld_trainers.recipes.schema import Gspo, Rollouts

RECIPE = """\
name = "mine"

[rl]
steps = 4
mini_batches = 2

[rl.rollouts]
max_turns = 1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE)
    return path


def problems(recipe: Path | str, *changes: str) -> str:
    with pytest.raises(RecipeError) as caught:
        load_recipe(recipe, changes)
    return str(caught.value)


def test_a_recipe_is_loaded_by_path_or_by_shipped_name(file: Path) -> None:
    recipe = load_recipe(file)
    assert recipe.name == "mine"
    assert recipe.rl and (recipe.rl.steps, recipe.rl.batch_size) == (4, 32)
    assert load_recipe(str(file)) == recipe
    assert load_recipe("one-gpu").name == "one-gpu"


def test_a_folder_that_holds_a_recipe_names_it(file: Path) -> None:
    (file.parent / "recipe.toml").write_text(canonical_toml(load_recipe(file)))
    assert load_recipe(file.parent) == load_recipe(file)


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_loads_under_its_name_and_says_what_it_is(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.description and "\n" not in recipe.description


def test_an_unknown_name_lists_what_is_shipped_and_the_nearest() -> None:
    message = problems("one-gpuu")
    assert message.startswith("no recipe 'one-gpuu': no shipped recipe. Did you mean 'one-gpu'")
    assert "Shipped are: one-gpu, qwen-agentworld-35b;" in message


def test_a_missing_file_is_no_shipped_name() -> None:
    assert problems("runs/x.toml").startswith("no recipe 'runs/x.toml': no such file.")


def test_text_that_is_no_toml_is_refused_with_its_place(file: Path) -> None:
    file.write_text('name = "x"\n[rl\n')
    assert (
        problems(file)
        == f"{file}:2:4: not valid TOML: Expected ']' at the end of a table declaration."
    )
    file.write_bytes(b"name = '\xff'")
    assert problems(file) == f"the recipe {str(file)!r} cannot be read: it is not UTF-8."


def test_every_problem_is_told_with_its_line_its_key_and_what_is_allowed(file: Path) -> None:
    file.write_text(
        RECIPE.replace("steps = 4", 'steps = "four"\nlearing_rate = 1e-5').replace(
            "max_turns = 1", "max_turns = 0\nmodell = 3"
        )
        + '\n[model]\ndtype = "bfloat61"\nlora = 3\n\n[data]\nheld_out = 1.5\nfiles = "a"\n'
    )
    rl, rollouts = ", ".join(Gspo.model_fields), ", ".join(Rollouts.model_fields)
    told = (
        "4:1: rl.steps: found 'four'; allowed: a whole number.",
        f"5:1: rl.learing_rate: unknown key. Did you mean 'learning_rate'? Known keys: {rl}.",
        "9:1: rl.rollouts.max_turns: found 0; allowed: more than 0.",
        f"10:1: rl.rollouts.modell: unknown key. Did you mean 'model'? Known keys: {rollouts}.",
        "13:1: model.dtype: found 'bfloat61'; allowed: 'float32' or 'bfloat16'. Did you mean 'bfloat16'?",
        "14:1: model.lora: found 3; allowed: a table of keys and values.",
        "17:1: data.held_out: found 1.5; allowed: 1 or less.",
        "18:1: data.files: found 'a'; allowed: a list.",
    )
    lines = problems(file).splitlines()
    assert lines == [f"{file}: 8 problems:", *(f"  {file}:{line}" for line in told)]


def test_a_right_key_in_the_wrong_table_is_told_where_it_belongs(file: Path) -> None:
    assert (
        "override 1 (rl.max_tokens=5): rl.max_tokens: unknown key. It belongs in [cpt] or [sft]."
        in problems(file, "rl.max_tokens=5")
    )


def test_a_name_is_needed(file: Path) -> None:
    file.write_text("seed = 1\n")
    assert problems(file) == f"{file}:1:1: name: required, but not there. Add `name = …`."


def test_batches_have_to_divide(file: Path) -> None:
    assert problems(file, "rl.mini_batches=3").endswith(
        "rl: `mini_batches` (3) does not divide the 64 rollouts of a rollout batch (`group_size` times"
        " `groups_per_step`)."
    )
    assert "`micro_batch_size` (5) does not divide `batch_size` (16)" in problems(
        file, "sft.micro_batch_size=5"
    )


def test_dates_are_refused_by_their_place(file: Path) -> None:
    file.write_text('name = "x"\n[data.settings]\nday = 2026-03-02\n')
    assert problems(file) == (
        f"{file}:3:1: data.settings.day: found the date 2026-03-02; dates have to be text."
    )


def test_numbers_have_to_be_finite(file: Path) -> None:
    file.write_text('name = "x"\n[rl]\nlearning_rate = inf\n')
    assert "rl.learning_rate: found inf; allowed: a number." in problems(file)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("rl.learning_rate=1e-5", ("rl", "learning_rate", 1e-5)),
        ("rl.learning_rate = 2", ("rl", "learning_rate", 2.0)),
        ("model.path=Qwen/Qwen3-0.6B", ("model", "path", "Qwen/Qwen3-0.6B")),
        ('model.path="a=b"', ("model", "path", "a=b")),
        ("model.path=2026-03-02", ("model", "path", "2026-03-02")),
        ("model.path=1\nx=2", ("model", "path", "1\nx=2")),
        ('data.files=["a", "b"]', ("data", "files", ("a", "b"))),
        ("data.settings.many.words=5", ("data", "settings", {"many": {"words": 5}})),
        ("model.config={model_type=llama}", None),
        ('model.config={model_type="llama"}', ("model", "config", {"model_type": "llama"})),
        ("rl.gradient_checkpointing=true", ("rl", "gradient_checkpointing", True)),
    ],
)
def test_overrides_are_toml_and_bare_words_are_text(
    file: Path, change: str, expected: tuple[str, str, Any] | None
) -> None:
    if expected is None:
        assert f"override 1 ({change}): the value is not valid TOML" in problems(file, change)
        return
    part, key, value = expected
    assert getattr(getattr(load_recipe(file, [change]), part), key) == value


def test_an_empty_override_takes_a_key_or_a_table_out(file: Path) -> None:
    recipe = load_recipe("one-gpu", ["model.lora=", "rl.steps="])
    assert recipe.model.lora is None
    assert recipe.rl and recipe.rl.steps == 100
    assert load_recipe(file, ["cpt="]) == load_recipe(file)
    assert "override 1 (modle.lora=)" in problems(file, "modle.lora=")
    assert "Did you mean 'lora'?" in problems(file, "model.lroa=")


def test_later_overrides_win_and_are_named_by_their_number(file: Path) -> None:
    recipe = load_recipe(file, ["rl.steps=8", "rl.steps=9"])
    assert recipe.rl and recipe.rl.steps == 9
    assert problems(file, "rl.steps=8", "steps", "rl.steps=no").splitlines()[1:] == [
        "  override 2 (steps): not of the form `key=value` or `table.key=value`.",
        "  override 3 (rl.steps=no): rl.steps: found 'no'; allowed: a whole number.",
    ]
    assert "'name' is no table, but 'mine'." in problems(file, "name.first=x")


@pytest.mark.parametrize("name", shipped_recipes())
def test_the_canonical_form_loads_to_an_equal_recipe(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    text = canonical_toml(recipe)
    path = tmp_path / "again.toml"
    path.write_text(text)
    assert load_recipe(path) == recipe
    assert canonical_toml(load_recipe(path)) == text


def test_the_digest_changes_with_what_decides_on_weights_and_with_nothing_else(file: Path) -> None:
    digest = recipe_digest(load_recipe(file))
    for change in ("output=elsewhere", "rl.save_every=3", "rl.threads=1", "hardware.gpus=8"):
        assert recipe_digest(load_recipe(file, [change])) == digest
    for change in ("seed=1", "rl.steps=8", "model.dtype=bfloat16", "sft.steps=1"):
        assert recipe_digest(load_recipe(file, [change])) != digest


def test_recipes_cannot_be_changed_after_loading(file: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(load_recipe(file), "seed", 5)  # noqa: B010 - the type checker knows better


def test_a_recipe_error_is_the_users(file: Path) -> None:
    assert issubclass(RecipeError, UsageError)
    assert RecipeError.exit_code == 2


def test_a_recipe_made_in_python_needs_no_file() -> None:
    assert Recipe(name="x").rl is None
