"""Records of tests, as a run with everything in it leaves them."""

from __future__ import annotations

from agentworld_fixtures._test_records import CassetteRecord, SimRecord, TurnRecord, WorldUseRecord

HOSTILE = "<script>document.title='taken over'</script><img src=x onerror=alert(1)>\x1b[31m"


def turn(
    tool: str, text: str, provenance: str, *, is_error: bool = False, **fields: object
) -> TurnRecord:
    return TurnRecord(
        tool=tool,
        arguments={"command": f"{tool} </code>"},
        text=text,
        provenance=provenance,
        ref="ab" * 32,
        is_error=is_error,
        **fields,  # pyright: ignore[reportArgumentType]
    )


def world(counts: dict[str, int], *turns: TurnRecord) -> WorldUseRecord:
    return WorldUseRecord(
        fixture="world",
        scenario="shop",
        seed=3,
        root="cd" * 32,
        ref="ef" * 32,
        counts=counts,
        prompt_tokens=1200 if "imagined" in counts else 0,
        turns=turns,
        pages={"f00d": f"<p>{HOSTILE}"},
    )


def record(test: str, outcome: str, *worlds: WorldUseRecord, **fields: object) -> SimRecord:
    given: dict[str, object] = {"mode": "once", "seconds": 0.25, "worlds": worlds, **fields}
    return SimRecord(test=test, outcome=outcome, **given)  # pyright: ignore[reportArgumentType]


def everything() -> list[SimRecord]:
    """Tests of every kind: repeated, failed by the guard, imagined, with a real answer, skipped."""
    shop = world(
        {"computed": 1, "enforced": 1},
        turn("bash", "total 0\n", "computed"),
        turn("refund", HOSTILE, "enforced", is_error=True),
    )
    cassette = CassetteRecord(
        path="cassettes/test_shop/test_refund.yaml",
        mode="once",
        replayed=2,
        unused=("get_order {'id': 5}",),
        drift=("-open\n+closed",),
    )
    repeated = "test_shop.py::test_refund"
    return [
        record(f"{repeated}[sim-1]", "passed", shop, repeated=repeated),
        record(
            f"{repeated}[sim-2]",
            "failed",
            shop,
            repeated=repeated,
            cassettes=(cassette,),
            violations=(f"the tool {HOSTILE!r} started a program",),
            reproduce="pytest 'test_shop.py::test_refund[sim-2]' --sim-seed=4",
        ),
        record("test_shop.py::test_asks", "passed", world({"imagined": 2})),
        record("test_shop.py::test_sends", "passed", world({"real": 1})),
        record("test_shop.py::test_later", "skipped"),
    ]
