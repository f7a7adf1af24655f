"""Every message about where scenarios, and the files in them, come from: files, folders, packages."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from agentworld_sim import registry
from agentworld_sim.errors import ScenarioError, UsageError
from agentworld_sim.scenario import Scenario, _document, _sources  # pyright: ignore[reportPrivateUsage]  its limits and folders
from agentworld_sim.types.files import MemoryBlobs

MINIMAL = "name: x\ndomains: [terminal]\n"


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_document, "MAX_BYTES", 1024**2)
    (tmp_path / "s.yaml").write_text("#" * (1024**2 + 1))
    with pytest.raises(ScenarioError, match=r"s\.yaml: larger than 1 MiB\. Move files out"):
        Scenario.load(tmp_path / "s.yaml")


def test_bytes_that_are_not_utf8_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"name: x\ndescription: caf\xe9\n")
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(tmp_path / "s.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/s.yaml:2:17: byte 0xe9 is not UTF-8. Save the file as UTF-8."
    )


def test_a_missing_file_names_its_nearest_sibling_and_what_is_shipped(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(MINIMAL)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(tmp_path / "frist.yaml")
    text = str(caught.value)
    assert text.startswith(
        f"there is no scenario '{tmp_path}/frist.yaml'. Did you mean 'first.yaml' in "
        f"'{tmp_path}'? Shipped scenarios: "
    )
    assert "failing-test, fictional-web, nginx-logs" in text


def test_a_misspelt_shipped_name_gets_the_nearest_one() -> None:
    with pytest.raises(
        ScenarioError, match=r"no scenario 'failing-tset'\. Did you mean 'failing-te"
    ):
        Scenario.load("failing-tset")


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(ScenarioError, match="The folder 'no/such' does not exist either"):
        Scenario.load("no/such/file.yaml")


def test_a_folder_without_a_scenario_points_to_from_directory(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"has no scenario\.yaml\. To make a world of its file"):
        Scenario.load(tmp_path)


def test_a_pipe_is_no_scenario(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ScenarioError, match=r"pipe' is not a regular file\. Shipped scenarios"):
        Scenario.load(tmp_path / "pipe")


def test_an_unreadable_file_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.yaml").write_text(MINIMAL)

    def refusing(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refusing)
    with pytest.raises(ScenarioError, match=r"cannot be read \(Permission denied\)\. Check its pe"):
        Scenario.load(tmp_path / "s.yaml")


def test_from_directory_needs_a_folder_and_a_good_name(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_directory(tmp_path / "projct")
    assert str(caught.value) == (
        f"'{tmp_path}/projct' is not a folder. Did you mean 'project' in '{tmp_path}'? Name the "
        "folder whose files the world should have."
    )
    with pytest.raises(
        ScenarioError, match="from_directory:1:1: name: found 'A b'; allowed: lower"
    ):
        Scenario.from_directory(tmp_path / "project", name="A b")


def test_sources_that_are_missing_or_links_are_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("")
    (tmp_path / "link").symlink_to("data.csv")
    text = MINIMAL + "files_from: data.csv\nfiles:\n  /a: {from: dta.csv}\n  /b: {from: link}\n"
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text, source="s.yaml", base_dir=tmp_path)
    assert str(caught.value) == (
        "s.yaml: 3 problems:\n"
        "  s.yaml:3:13: files_from: 'data.csv' is not a folder. Name one, or use `files` with "
        "`from`.\n"
        f"  s.yaml:5:14: files./a.from: 'dta.csv' is not in {tmp_path}. Did you mean 'data.csv'? "
        "Add it there, or correct the path.\n"
        f"  s.yaml:6:14: files./b.from: {tmp_path}/link is a symbolic link; links are not "
        "followed. Copy the content instead."
    )


def test_a_source_that_goes_away_later_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "folder").mkdir()
    scenario = Scenario.parse(
        MINIMAL + "files: {/a: {from: a}}\nfiles_from: folder\n", source="s", base_dir=tmp_path
    )
    (tmp_path / "a").unlink()
    with pytest.raises(ScenarioError, match=r"^s: files\./a\.from: No such file or directory\.$"):
        scenario.initial_tree(MemoryBlobs())
    (tmp_path / "folder").rmdir()
    with pytest.raises(ScenarioError, match=r"^s: files_from: 'folder' is not in .*Add it there"):
        scenario.initial_tree(MemoryBlobs())


def test_a_folder_has_no_mode_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    scenario = Scenario.parse(
        MINIMAL + 'files: {/a: {from: folder, mode: "0700"}}\n', source="s", base_dir=tmp_path
    )
    with pytest.raises(
        ScenarioError, match=r"files\./a\.mode: 'folder' is a folder.*Remove `mode`"
    ):
        scenario.initial_tree(MemoryBlobs())


def test_a_copied_file_cannot_also_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    scenario = Scenario.parse(
        MINIMAL + "files: {/a: {from: a}, /a/b: x}\n", source="s", base_dir=tmp_path
    )
    with pytest.raises(ScenarioError, match=r"s: files: '/a' is a file, not a directory\. Move on"):
        scenario.initial_tree(MemoryBlobs())


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("file_bytes: 2", "s: limits.file_bytes: the files need 3; allowed: 2. Raise the limit"),
        ("files: 1", "s: limits.files: the files need 2; allowed: 1. Raise the limit"),
        ("total_bytes: 5", "s: limits.total_bytes: the files need 6; allowed: 5. Raise the limit"),
    ],
)
def test_files_over_the_limits_are_refused(limits: str, expected: str) -> None:
    scenario = Scenario.parse(
        MINIMAL + f"files: {{/a: abc, /b: def}}\nlimits: {{{limits}}}\n", source="s"
    )
    with pytest.raises(ScenarioError) as caught:
        scenario.initial_tree(MemoryBlobs())
    assert str(caught.value).startswith(expected)


def entry_points(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    group = _sources.scenario_folders.group
    points = EntryPoints([EntryPoint(f"p{n}", value, group) for n, value in enumerate(values)])

    def group_points(_: str) -> EntryPoints:
        return points

    monkeypatch.setattr(registry, "_entry_points", group_points)
    monkeypatch.setattr(_sources.scenario_folders, "_loaded", {})


def test_a_package_whose_scenarios_do_not_import_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points(monkeypatch, "no_such_module_of_ours")
    with pytest.raises(UsageError) as caught:
        _sources.shipped_scenarios()
    assert str(caught.value) == (
        "the collection of scenarios 'p0' of the package 'no_such_module_of_ours' cannot be used"
        " (ModuleNotFoundError: No module named 'no_such_module_of_ours'). Repair or uninstall that"
        " package."
    )


def test_a_package_without_a_scenario_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points(monkeypatch, "string")
    with pytest.raises(UsageError, match=r"SCENARIOS is None, not the Path of a directory"):
        _sources.shipped_scenarios()


def test_two_packages_cannot_ship_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("aworlds", "bworlds"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(
            "from pathlib import Path\nSCENARIOS = Path(__file__).parent\n"
        )
        (tmp_path / package / "same.yaml").write_text(MINIMAL)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    entry_points(monkeypatch, "aworlds", "bworlds")
    with pytest.raises(ScenarioError) as caught:
        _sources.shipped_scenarios()
    assert str(caught.value) == (
        f"two installed packages ship a scenario named 'same': {tmp_path}/aworlds/same.yaml and "
        f"{tmp_path}/bworlds/same.yaml. Uninstall one of them, or load the file by its path."
    )
