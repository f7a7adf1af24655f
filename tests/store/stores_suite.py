"""What every store must do. Each leg brings a fixture `store`: one that is empty, and its own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import (
    Action,
    Exchange,
    FailedStep,
    FileEntry,
    FileTree,
    Observation,
    StateChange,
    ToolCall,
    Turn,
    UnknownWorldError,
    UsageError,
    WorldState,
    WorldStore,
)
from agentworld_sim.store import Origin, WorldRecord
from agentworld_sim.store._sql import SNAPSHOT_EVERY
from agentworld_sim.types import blob_id
from tests.properties import examples

ROOT = "a" * 40
SHARED = b"in every world"
START = WorldState(
    files=FileTree.from_entries(
        [("/shared", FileEntry("file", content=blob_id(SHARED), size=len(SHARED)))]
    ),
    clock_us=0,
    seed=1,
)


def add_world(store: WorldStore, world_id: str = "w", head: str = ROOT, turns: int = 0) -> None:
    record = WorldRecord(id=world_id, root=ROOT, head=head, scenario='{"name": "x"}', turns=turns)
    if head == ROOT:
        store.create(record, START, {blob_id(SHARED): SHARED})
    else:
        store.create(record, store.state(head), {})


def turn_after(
    parent: str, text: str, data: bytes = b"", merged: tuple[str, ...] = ()
) -> tuple[Turn, dict[str, bytes]]:
    name = blob_id(data)
    change = StateChange(
        clock_us=7, files={f"/{text}": FileEntry("file", content=name, size=len(data))}
    )
    turn = Turn(
        parent=parent,
        call=ToolCall("t", {"text": text}),
        action=Action(text),
        observation=Observation(text=text),
        change=change,
        merged=merged,
    )
    return turn, {name: data}


def commit(
    store: WorldStore,
    text: str,
    world_id: str = "w",
    parent: str | None = None,
    origin: Origin | None = None,
    merged: tuple[str, ...] = (),
) -> Turn:
    parent = parent or store.world(world_id).head
    turn, blobs = turn_after(parent, text, text.encode(), merged)
    after = store.state(parent).after(turn.change)
    assert store.commit(world_id, turn, after, blobs, must_move_head=False, origin=origin)
    return turn


def has_blob(store: WorldStore, data: bytes) -> bool:
    try:
        return store.blobs.get(blob_id(data)) == data
    except KeyError:
        return False


def failed_step(said: bytes) -> FailedStep:
    exchange = Exchange(
        about="observation", messages=(("user", blob_id(said)),), parameters={}, content="\0no"
    )
    return FailedStep(
        base=ROOT, call=ToolCall("t"), error="refused", exchanges=(exchange,), when="now"
    )


# Worlds and turns


def test_a_new_world_stands_at_its_root(store: WorldStore) -> None:
    add_world(store)
    assert store.world("w").head == ROOT
    assert store.state(ROOT) == START
    assert store.lineage(ROOT) == []


def test_a_record_comes_back_as_it_was_given(store: WorldStore) -> None:
    record = WorldRecord(
        id="w",
        root=ROOT,
        head=ROOT,
        scenario='{"name": "caf\u00e9 \u65e5\u672c \\u0000"}',
        created="2026-01-02T03:04:05+00:00",
        forked_from="other",
        expires=1_800_000_000.25,
    )
    store.create(record, START, {})
    assert store.world("w") == record
    assert store.worlds() == [record]


def test_a_commit_moves_the_head_and_keeps_turn_state_and_blobs(store: WorldStore) -> None:
    add_world(store)
    turn = commit(store, "one")
    assert store.world("w").head == turn.ref
    assert store.world("w").turns == 1
    assert store.lineage(turn.ref) == [turn]
    assert store.state(turn.ref) == START.after(turn.change)
    assert store.blobs.get(blob_id(b"one")) == b"one"


def test_a_turn_on_an_older_point_is_a_branch_and_leaves_the_head(store: WorldStore) -> None:
    add_world(store)
    head = commit(store, "one")
    branch = commit(store, "two", parent=ROOT)
    assert store.world("w").head == head.ref
    assert store.lineage(branch.ref) == [branch]


def test_a_commit_that_must_move_the_head_stores_nothing_when_it_cannot(store: WorldStore) -> None:
    add_world(store)
    commit(store, "one")
    late, blobs = turn_after(ROOT, "late", b"late")
    assert not store.commit("w", late, START.after(late.change), blobs, must_move_head=True)
    assert not store.has(late.ref)
    assert not has_blob(store, b"late")


def test_an_abandoned_commit_stores_nothing(store: WorldStore) -> None:
    add_world(store)
    turn, blobs = turn_after(ROOT, "one", b"data")
    given_up = store.commit("w", turn, START, blobs, must_move_head=True, abandoned=lambda: True)
    assert not given_up
    assert store.world("w").head == ROOT
    assert not store.has(turn.ref)
    assert not has_blob(store, b"data")


def test_a_commit_to_a_world_or_a_point_that_is_not_there_is_refused(store: WorldStore) -> None:
    add_world(store)
    turn, blobs = turn_after(ROOT, "one")
    with pytest.raises(UnknownWorldError, match="no world 'x'"):
        store.commit("x", turn, START, blobs, must_move_head=False)
    turn, blobs = turn_after("b" * 40, "one")
    with pytest.raises(UnknownWorldError, match="no point 'bbb"):
        store.commit("w", turn, START, blobs, must_move_head=False)
    assert not store.has(turn.ref)


def test_every_point_of_a_long_history_can_be_read(store: WorldStore) -> None:
    add_world(store)
    state, expected = START, [(ROOT, START)]
    for number in range(2 * SNAPSHOT_EVERY + 3):
        turn = commit(store, f"t{number}")
        state = state.after(turn.change)
        expected.append((turn.ref, state))
    assert all(store.state(ref) == at for ref, at in expected)


@pytest.mark.parametrize("data", [b"", b"\0", bytes(range(256)) * 9, b"\xff\xfe", b"z" * 100_000])
def test_blobs_are_any_bytes(store: WorldStore, data: bytes) -> None:
    add_world(store)
    turn, blobs = turn_after(ROOT, "bytes", data)
    assert store.commit("w", turn, START.after(turn.change), blobs, must_move_head=True)
    assert store.blobs.get(blob_id(data)) == data
    assert store.blobs.put(data + b"!") == blob_id(data + b"!")
    assert store.blobs.get(blob_id(data + b"!")) == data + b"!"


@pytest.mark.parametrize("text", ["\0", "\udcff", "\u2028\U0001f600", "\\", "'; DROP TABLE turns"])
def test_texts_are_any_text(store: WorldStore, text: str) -> None:
    add_world(store)
    turn, _ = turn_after(ROOT, "text")
    turn = Turn(
        parent=ROOT,
        call=ToolCall("t", {"x": text}),
        action=Action(text),
        observation=Observation(text=text),
        change=StateChange(clock_us=1, values={"x": text}),
    )
    assert store.commit("w", turn, START.after(turn.change), {}, must_move_head=True)
    assert store.lineage(turn.ref) == [turn]
    assert store.state(turn.ref).values == {"x": text}


def test_a_taken_id_is_refused(store: WorldStore) -> None:
    add_world(store)
    with pytest.raises(UsageError, match="'w' exists already"):
        add_world(store)


def test_an_unknown_world_is_answered_with_the_nearest_id(store: WorldStore) -> None:
    add_world(store, "website")
    with pytest.raises(UnknownWorldError, match=r"no world 'webside'.*Did you mean 'website'"):
        store.world("webside")


def test_an_unknown_world_among_many_is_answered_without_listing_them(store: WorldStore) -> None:
    for number in range(100):
        add_world(store, f"world-{number:03}")
    with pytest.raises(UnknownWorldError, match="no world 'world-0999'") as raised:
        store.world("world-0999")
    assert "Did you mean 'world-099'" in str(raised.value)
    assert str(raised.value).count("world-0") < 15


def test_an_unknown_ref_says_what_a_ref_is(store: WorldStore) -> None:
    for ask in (store.state, store.lineage):
        with pytest.raises(UnknownWorldError, match="no point 'bbb"):
            ask("b" * 40)


def test_whatever_is_asked_of_an_unknown_world_names_it(store: WorldStore) -> None:
    for ask in (
        lambda: store.remove("x"),
        lambda: store.rewind("x", ROOT),
        lambda: store.extend("x", 1.0),
        lambda: store.failures("x"),
        lambda: store.add_failure("x", failed_step(b"hi"), {}),
    ):
        with pytest.raises(UnknownWorldError, match="no world 'x'"):
            ask()


def test_failed_steps_are_kept_in_order_with_what_was_asked(store: WorldStore) -> None:
    add_world(store)
    steps = [failed_step(b"first"), failed_step(b"second")]
    for step, said in zip(steps, (b"first", b"second"), strict=True):
        store.add_failure("w", step, {blob_id(said): said})
    assert store.failures("w") == steps
    assert store.blobs.get(blob_id(b"first")) == b"first"


# Rewinding


def test_who_asked_for_a_turn_finds_it_again(store: WorldStore) -> None:
    add_world(store)
    first = commit(store, "one", origin=Origin("00ff", "a:0"))
    second = commit(store, "two", origin=Origin("00ff", "b:0"))
    branch = commit(store, "three", parent=first.ref, origin=Origin("00ff", "b:0"))
    other = commit(store, "four", origin=Origin("11", "a:0"))
    commit(store, "five")
    assert store.batch_turns("w", "00ff") == [("a:0", first), ("b:0", second), ("b:0", branch)]
    assert store.batch_turns("w", "11") == [("a:0", other)]
    assert store.batch_turns("w", "22") == []


def test_two_who_ask_the_same_find_the_same_turn(store: WorldStore) -> None:
    add_world(store)
    add_world(store, "fork", head=ROOT)
    turn = commit(store, "one", origin=Origin("00", "a:0"))
    assert commit(store, "one", "fork", origin=Origin("11", "b:0")) == turn
    assert store.batch_turns("w", "00") == [("a:0", turn)]
    assert store.batch_turns("w", "11") == store.batch_turns("fork", "00") == []
    store.remove("w")
    assert store.batch_turns("w", "00") == []
    assert store.batch_turns("fork", "11") == [("b:0", turn)]


def test_nothing_is_kept_of_who_asked_for_a_turn_that_was_not_stored(store: WorldStore) -> None:
    add_world(store)
    commit(store, "one")
    late, blobs = turn_after(ROOT, "late")
    for abandoned in (False, True):
        assert not store.commit(
            "w",
            late,
            START.after(late.change),
            blobs,
            must_move_head=not abandoned,
            abandoned=lambda abandoned=abandoned: abandoned,
            origin=Origin("00", "a:0"),
        )
    assert store.batch_turns("w", "00") == []


def test_rewinding_moves_the_head_and_keeps_every_turn(store: WorldStore) -> None:
    add_world(store)
    turns = [commit(store, text) for text in ("one", "two", "three")]
    record = store.rewind("w", turns[0].ref)
    assert record == store.world("w")
    assert (record.head, record.turns) == (turns[0].ref, 1)
    assert store.lineage(turns[2].ref) == turns
    branch = commit(store, "other")
    assert store.lineage(branch.ref) == [turns[0], branch]
    assert store.world("w").turns == 2
    assert store.rewind("w", turns[2].ref).turns == 3
    assert store.rewind("w", ROOT).turns == 0


def test_a_world_rewound_does_the_same_again_and_gets_to_the_same_point(store: WorldStore) -> None:
    add_world(store)
    turn = commit(store, "one")
    store.rewind("w", ROOT)
    assert commit(store, "one").ref == turn.ref
    assert store.world("w").head == turn.ref


def test_a_fork_can_be_rewound_to_before_it_was_made(store: WorldStore) -> None:
    add_world(store)
    first, second = commit(store, "one"), commit(store, "two")
    add_world(store, "fork", head=second.ref, turns=2)
    commit(store, "three", "fork")
    assert store.rewind("fork", first.ref).turns == 1
    assert store.rewind("fork", ROOT).turns == 0
    assert store.world("w").head == second.ref


def test_a_point_of_another_history_is_no_place_to_rewind_to(store: WorldStore) -> None:
    add_world(store)
    fork_point = commit(store, "one")
    add_world(store, "fork", head=fork_point.ref, turns=1)
    foreign = commit(store, "two")
    mine = commit(store, "mine", "fork")
    for ref in (foreign.ref, "b" * 40):
        with pytest.raises(UnknownWorldError, match=r"in the history of the world 'fork'"):
            store.rewind("fork", ref)
    assert store.world("fork").head == mine.ref


# Removing and expiring


def test_removing_a_world_keeps_what_its_forks_need(store: WorldStore) -> None:
    add_world(store)
    shared = commit(store, "shared")
    add_world(store, "fork", head=shared.ref, turns=1)
    only_fork = commit(store, "mine", "fork", parent=shared.ref)
    gone = commit(store, "gone")
    store.remove("w")
    assert [record.id for record in store.worlds()] == ["fork"]
    assert [turn.call.arguments["text"] for turn in store.lineage(only_fork.ref)] == [
        "shared",
        "mine",
    ]
    assert has_blob(store, b"shared") and has_blob(store, SHARED)
    assert not store.has(gone.ref) and not has_blob(store, b"gone")


def test_what_nobody_needs_is_forgotten(store: WorldStore) -> None:
    add_world(store)
    shared = commit(store, "shared")
    add_world(store, "fork", head=shared.ref, turns=1)
    mine = commit(store, "mine", "fork")
    store.add_failure("fork", failed_step(b"said"), {blob_id(b"said"): b"said"})
    store.remove("w")
    store.remove("fork")
    assert not any(store.has(ref) for ref in (ROOT, shared.ref, mine.ref))
    assert not any(has_blob(store, data) for data in (SHARED, b"shared", b"mine", b"said"))


def test_worlds_that_did_the_same_need_it_each(store: WorldStore) -> None:
    for world_id in ("one", "two"):
        add_world(store, world_id)
        for text in ("a", "b", "c"):
            commit(store, text, world_id)
    assert store.world("one").head == store.world("two").head
    store.remove("one")
    assert len(store.lineage(store.world("two").head)) == 3
    assert all(has_blob(store, data) for data in (SHARED, b"a", b"b", b"c"))


def test_a_long_world_is_removed_whole(store: WorldStore) -> None:
    add_world(store)
    add_world(store, "stays")
    turns: list[Turn] = []
    for number in range(600):
        turn, blobs = turn_after(turns[-1].ref if turns else ROOT, f"t{number}", b"%d" % number)
        store.commit("w", turn, START, blobs, must_move_head=True)
        turns.append(turn)
    kept = commit(store, "kept", "stays")
    store.remove("w")
    assert not any(store.has(turn.ref) for turn in turns)
    assert not any(has_blob(store, b"%d" % number) for number in range(600))
    assert store.lineage(kept.ref) == [kept]


def test_a_fork_point_that_is_gone_cannot_be_begun_at(store: WorldStore) -> None:
    add_world(store)
    gone = commit(store, "gone")
    state = store.state(gone.ref)
    store.remove("w")
    record = WorldRecord(id="late", root=ROOT, head=gone.ref, scenario="{}")
    with pytest.raises(UnknownWorldError, match="no point"):
        store.create(record, state, {})
    assert store.worlds() == []


def test_worlds_expire_when_their_time_has_come_and_not_before(store: WorldStore) -> None:
    for world_id, expires in (("never", 0.0), ("soon", 10.0), ("later", 20.0), ("put-off", 10.0)):
        add_world(store, world_id)
        commit(store, world_id, world_id)
        store.extend(world_id, expires)
    assert store.world("soon").expires == 10.0
    assert store.remove_expired(9.9) == []
    store.extend("put-off", 30.0)
    assert store.remove_expired(10.0) == ["soon"]
    assert not has_blob(store, b"soon") and has_blob(store, b"put-off")
    assert store.remove_expired(10.0) == []
    assert sorted(store.remove_expired(1e12)) == ["later", "put-off"]
    store.extend("never", 5.0)
    store.extend("never", 0.0)
    assert store.remove_expired(1e12) == []
    assert [record.id for record in store.worlds()] == ["never"]


def test_a_merge_keeps_all_its_branches_and_moves_a_head_that_stands_at_any(
    store: WorldStore,
) -> None:
    add_world(store)
    base = commit(store, "base")
    second = commit(store, "second", parent=base.ref)
    first = commit(store, "first", parent=base.ref)
    first = commit(store, "more", parent=first.ref)
    assert store.world("w").head == second.ref
    merge = commit(store, "merge", parent=first.ref, merged=(second.ref,))
    assert store.world("w").head == merge.ref and store.world("w").turns == 5
    lineage = store.lineage(merge.ref)
    assert [turn.call.arguments["text"] for turn in lineage] == [
        "base",
        "first",
        "more",
        "second",
        "merge",
    ]
    assert lineage[-1].merged == (second.ref,)
    assert store.rewind("w", second.ref).turns == 2
    add_world(store, "fork", head=merge.ref, turns=5)
    assert store.rewind("fork", second.ref).head == second.ref
    store.remove("w")
    assert len(store.lineage(merge.ref)) == 5 and has_blob(store, b"second")
    assert set(store.state(merge.ref).files) >= {"/base", "/first", "/more", "/merge"}
    after = commit(store, "after", world_id="fork", parent=merge.ref)
    assert len(store.lineage(after.ref)) == 6
    store.remove("fork")
    assert not any(store.has(one.ref) for one in (base, first, second, merge, after))
    assert not has_blob(store, b"second") and not has_blob(store, SHARED)


def test_a_merge_of_a_point_that_is_not_there_stores_nothing(store: WorldStore) -> None:
    add_world(store)
    first = commit(store, "first")
    with pytest.raises(UnknownWorldError, match=f"no point '{'b' * 40}'"):
        commit(store, "merge", merged=("b" * 40,))
    assert store.world("w").head == first.ref


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("branch"), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("merge"), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("fork"), st.sampled_from("xyz"), st.integers(0, 3)),
        st.tuples(st.just("rewind"), st.just(""), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.just(""), st.integers(0, 3)),
        st.tuples(st.just("expire"), st.just(""), st.integers(0, 3)),
    ),
    max_size=14,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(60),
    deadline=None,
)
@given(_STEPS)
def test_a_store_holds_just_what_its_worlds_need(
    store: WorldStore, steps: list[tuple[str, str, int]]
) -> None:
    for record in store.worlds():
        store.remove(record.id)
    add_world(store)
    histories: dict[str, set[str]] = {"w": {ROOT}}
    made: dict[str, Turn] = {}
    for what, name, which in steps:
        if not histories:
            add_world(store)
            histories["w"] = {ROOT}
        world_id = sorted(histories)[which % len(histories)]
        held = histories[world_id]
        point = sorted(held)[which % len(held)]
        if what in ("commit", "branch"):
            parent = store.world(world_id).head if what == "commit" else point
            turn = commit(store, name, world_id, parent)
            made[turn.ref] = turn
            held.add(turn.ref)
        elif what == "merge":
            known = sorted(set[str]().union(*histories.values()) - {ROOT, point})
            if known and point != ROOT:
                other = known[which % len(known)]
                turn = commit(store, name, world_id, point, merged=(other,))
                made[turn.ref] = turn
                held.update(one.ref for one in store.lineage(turn.ref))
        elif what == "fork":
            if name not in histories:
                add_world(store, name, head=point, turns=len(store.lineage(point)))
                histories[name] = {ROOT, *(turn.ref for turn in store.lineage(point))}
        elif what == "rewind":
            assert store.rewind(world_id, point).turns == len(store.lineage(point))
        elif what == "remove":
            store.remove(world_id)
            del histories[world_id]
        else:
            store.extend(world_id, 5.0)
            assert store.remove_expired(5.0) == [world_id]
            del histories[world_id]
    needed = set[str]().union(*histories.values())
    assert {record.id for record in store.worlds()} == set(histories)
    assert {ref for ref in (ROOT, *made) if store.has(ref)} == needed
    data = {made[ref].call.arguments["text"].encode() for ref in needed if ref != ROOT}
    every = {turn.call.arguments["text"].encode() for turn in made.values()}
    assert {one for one in every if has_blob(store, one)} == data
    assert has_blob(store, SHARED) == bool(histories)
