"""`Registry`: built-in names, and what packages add by entry point."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.registry import Registry

GROUP = "agentworld.test_things"

Install = Callable[[str, str, str, str], None]


def number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number")
    return value


def made() -> Registry[int]:
    return Registry(GROUP, what="kind of number", builtin=lambda: {"one": 1, "two": 2}, read=number)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package with one module and its entry points."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def install(package: str, source: str, name: str, value: str) -> None:
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {package}:{value}\n")

    return install


def test_built_in_names_are_found_without_packages() -> None:
    assert made().get("two") == 2
    assert made().names() == ("one", "two")


def test_a_package_adds_a_name_by_entry_point(install: Install) -> None:
    install("registry_good", "THREE = 3", "three", "THREE")
    registry = made()
    assert registry.get("three") == 3
    assert registry.names() == ("one", "two", "three")
    assert registry.all() == {"one": 1, "two": 2, "three": 3}


def test_an_unknown_name_lists_the_known_ones_the_nearest_and_what_to_install() -> None:
    with pytest.raises(UsageError) as raised:
        made().get("twoo")
    assert str(raised.value) == (
        "there is no kind of number 'twoo'. Did you mean 'two'? There are: one, two. If it is not one"
        " of these, install the package that it comes with: it declares an entry point 'twoo' in the"
        " group 'agentworld.test_things'."
    )


def test_an_unknown_name_with_a_package_in_front_names_the_package() -> None:
    with pytest.raises(UsageError, match="install the package 'acme'"):
        made().get("acme/four")


def test_a_package_that_cannot_be_imported_is_named_and_harms_no_other(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install("registry_good", "THREE = 3", "three", "THREE")
    install("registry_broken", "import no_such_module_here", "four", "FOUR")
    registry = made()
    with pytest.raises(UsageError, match=r"'four' of the package 'registry_broken' cannot be used"):
        registry.get("four")
    assert registry.get("three") == 3
    with caplog.at_level(logging.WARNING):
        assert registry.all() == {"one": 1, "two": 2, "three": 3}
    assert "registry_broken" in caplog.text


def test_an_entry_point_that_names_something_else_says_what_it_should_be(install: Install) -> None:
    install("registry_wrong", "TEXT = 'x'", "text", "TEXT")
    with pytest.raises(
        UsageError, match=r"'registry_wrong' cannot be used \(TypeError: 'x' is not"
    ):
        made().get("text")


def test_a_name_that_two_packages_have_is_nobodys(install: Install) -> None:
    install("registry_first", "FIVE = 5", "five", "FIVE")
    install("registry_second", "FIVE = 6", "five", "FIVE")
    with pytest.raises(UsageError, match="several packages: registry_first, registry_second"):
        made().get("five")


def test_a_built_in_name_is_not_replaced_by_a_package(install: Install) -> None:
    install("registry_bold", "ONE = 100", "one", "ONE")
    assert made().get("one") == 1
