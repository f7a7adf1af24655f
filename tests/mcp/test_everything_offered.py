"""What a client sees through the shim is, field by field on the wire, what it sees directly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from conftest import Everything, Shim, Wire

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
FRESHNESS = {"resultType", "ttlMs", "cacheScope"}
"""What only the newest era says of a result."""


def learned(wire: Wire) -> dict[str, Any]:
    """All that a client can learn by asking what there is."""
    greeting = wire.greet()["result"]
    return {
        # How long it may be remembered is each server's own affair.
        "greeting": {key: value for key, value in greeting.items() if key not in FRESHNESS},
        **{method: wire.pages(method) for method in LISTS},
    }


def known(value: Any) -> Any:
    """`value` without the one field of the upstream that no version of the protocol knows."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: known(one) for key, one in fields.items() if key != "x-later"}
    return [known(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def plain(pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pages without what belongs to one era only."""
    return [
        {
            key: {k: v for k, v in value.items() if "modelcontextprotocol" not in k}
            if key == "_meta"
            else value
            for key, value in page["result"].items()
            if key not in FRESHNESS
        }
        for page in pages
    ]


@ERAS
def test_every_list_is_the_upstreams_own_over_stdio(everything: Everything, era: str) -> None:
    with (
        everything.direct(era) as direct,
        everything.shown(era, "--", *everything.command(era)) as through,
    ):
        theirs, ours = learned(direct), learned(through)
    assert ours == known(theirs)
    assert [len(theirs[method]) for method in LISTS] == [2, 2, 1, 1]


@ERAS
def test_every_list_is_the_upstreams_own_over_http(everything: Everything, era: str) -> None:
    with (
        everything.direct(era) as direct,
        everything.over_http(era) as url,
        everything.shown(era, "--", url) as through,
    ):
        theirs, ours = learned(direct), learned(through)
    assert ours == known(theirs)


@ERAS
def test_a_client_of_the_other_era_sees_the_same_lists(everything: Everything, era: str) -> None:
    other = {"legacy": "modern", "modern": "legacy"}[era]
    with (
        everything.direct(era) as direct,
        everything.shown(other, "--", *everything.command(era)) as through,
    ):
        theirs, ours = learned(direct), learned(through)
    for method in LISTS:
        assert plain(ours[method]) == plain(known(theirs[method]))
        missing = [FRESHNESS - page["result"].keys() for page in ours[method]]
        assert missing == [set() if other == "modern" else FRESHNESS] * len(missing)


@ERAS
def test_a_snapshot_shows_the_same_and_starts_nothing(
    everything: Everything, shim: Shim, tmp_path: Path, era: str
) -> None:
    snapshot = tmp_path / "everything.json"
    done = everything.snapshot("-o", str(snapshot), "--", *everything.command(era))
    assert (done.stdout, done.returncode) == ("", 0)
    with everything.direct(era) as direct:
        theirs = learned(direct)
    for mark in shim.marks.iterdir():
        mark.unlink()
    with everything.shown(era, "--snapshot", str(snapshot)) as through:
        ours = learned(through)
        through.ask("tools/call", name="place_order", arguments={"size": "small"})
    assert ours == known(theirs)
    assert list(shim.marks.iterdir()) == []


@ERAS
def test_a_client_sees_exactly_the_capabilities_of_the_upstream(
    everything: Everything, era: str
) -> None:
    with (
        everything.direct(era) as direct,
        everything.shown(era, "--", *everything.command(era)) as through,
    ):
        theirs, ours = direct.greet(), through.greet()
    assert ours["result"]["capabilities"] == theirs["result"]["capabilities"]


@ERAS
def test_an_upstream_without_capabilities_is_not_asked_and_nothing_is_offered(
    everything: Everything, shim: Shim, era: str
) -> None:
    with everything.shown(era, "--", *everything.command(era, "bare")) as through:
        assert through.greet()["result"]["capabilities"] == {}
        codes = [through.ask(method)["error"]["code"] for method in (*LISTS, "tools/call")]
    assert set(codes) <= {-32601, -32602}
    assert codes[:4] == [-32601] * 4
    asked = {path.name for path in shim.marks.iterdir()}
    assert not {name for name in asked if name.endswith("list")}


def test_a_list_that_the_upstream_refuses_is_refused_in_its_words(everything: Everything) -> None:
    with everything.shown("legacy", "--", *everything.command("legacy", "partly")) as through:
        through.greet()
        assert through.ask("resources/list") == {"error": {"code": -32000, "message": "Not today"}}
        assert through.ask("resources/templates/list")["error"]["code"] == -32601
        assert len(through.pages("tools/list")) == 2


@ERAS
def test_a_cursor_that_the_upstream_never_gave_is_refused(everything: Everything, era: str) -> None:
    with everything.shown(era, "--", *everything.command(era)) as through:
        through.greet()
        for method in LISTS:
            error = through.ask(method, cursor="nowhere")["error"]
            assert (error["code"], error["message"]) == (-32602, "Invalid cursor: nowhere")
