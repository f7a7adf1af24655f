"""A user's own reward function."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from agentworld_sim.errors import ModelUnavailable, UsageError
from agentworld_sim.scoring import Reward
from agentworld_trainers.user_functions import own_reward
from tests.scoring.samples import sample

MODULE = """
    import asyncio
    from agentworld_sim.errors import ModelUnavailable
    from agentworld_sim.scoring import Reward

    NUMBER = 3

    def length(sample, text):
        return len(text)

    async def slow_length(sample, text):
        await asyncio.sleep(0)
        return len(text)

    def whole(sample, text):
        return Reward(2.0, {"turn": float(sample.turn)}, "because")

    def undecided(sample, text):
        return None

    def nan(sample, text):
        return float("nan")

    def nan_inside(sample, text):
        return Reward(float("inf"))

    def words(sample, text):
        return "good"

    def broken(sample, text):
        return {}["missing"]

    def down(sample, text):
        raise ModelUnavailable("the server is down")

    def one_argument(text):
        return 1.0

    def many(sample, text, *, strict=False):
        return 1.0

    class Judge:
        @staticmethod
        def rate(sample, text):
            return 0.5
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a module of reward functions, as a user has it."""
    (tmp_path / "own_rewards.py").write_text(textwrap.dedent(MODULE))
    (tmp_path / "needy_rewards.py").write_text("import there_is_no_such_package\n")
    (tmp_path / "wrong_rewards.py").write_text("1 / 0\n")
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "__init__.py").write_text("")
    (tmp_path / "bag" / "exact.py").write_text("def rate(sample, text):\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        ("length", Reward(4.0)),
        ("slow_length", Reward(4.0)),
        ("whole", Reward(2.0, {"turn": 2.0}, "because")),
        ("undecided", None),
        ("many", Reward(1.0)),
        ("Judge.rate", Reward(0.5)),
    ],
)
async def test_it_is_sync_or_async_and_returns_a_number_a_reward_or_nothing(
    name: str, reward: Reward | None
) -> None:
    assert await own_reward(f"own_rewards:{name}")(sample(), "four") == reward


async def test_it_may_stand_in_a_package() -> None:
    assert await own_reward("bag.exact:rate")(sample(), "") == Reward(1.0)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("own_rewards", "no import path"),
        ("own_rewards:", "no import path"),
        (":length", "no import path"),
        ("own_reward:length", "no module 'own_reward'. Did you mean 'own_rewards'"),
        ("bag.exakt:rate", "no module 'bag.exakt'. Did you mean 'bag.exact'"),
        ("own_rewards:lenght", "has no 'lenght'. Did you mean 'length'"),
        ("own_rewards:NUMBER", "no function but of type 'int'"),
        ("own_rewards:one_argument", "does not allow"),
        ("needy_rewards:rate", "needs the module 'there_is_no_such_package'"),
        ("wrong_rewards:rate", "ZeroDivisionError"),
    ],
)
def test_a_wrong_path_is_told_before_anything_is_trained(path: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        own_reward(path)
    assert words in str(caught.value)
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nan", "returned nan"),
        ("nan_inside", "returned inf"),
        ("words", "returned 'str'"),
        ("broken", "failed on the sample 't1/2': KeyError: 'missing'"),
    ],
)
async def test_a_wrong_value_is_refused_with_the_sample_s_name(name: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        await own_reward(f"own_rewards:{name}")(sample(), "text")
    assert words in str(caught.value)


async def test_a_failure_that_says_whose_it_is_stays_what_it_is() -> None:
    with pytest.raises(ModelUnavailable):
        await own_reward("own_rewards:down")(sample(), "text")
