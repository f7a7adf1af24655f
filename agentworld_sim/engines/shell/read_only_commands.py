"""Which imagined commands only look.

Files tell what most commands changed. Some change what no file of the world tells: a repository's
index, a database, containers, services. After such a command the same question may have another
answer, so it is asked again. Of the commands named here that is not to be feared.
"""

from __future__ import annotations

from collections.abc import Mapping

_LOOKS = frozenset(
    "ab ack ag apropos bandit bat blkid cloc colordiff delta difft dig dmidecode eslint exa eza fd"
    " fdfind ffprobe flake8 fzf hadolint host htop hyperfine identify info iostat iotop jest"
    " journalctl jsonlint ldd lsof lspci lsusb lsmod man markdownlint mocha mpstat mtr mypy"
    " netstat nm nslookup ntpq nvidia-smi objdump pdfinfo pdftotext phpunit ping ping6 pylint"
    " pyright pytest readelf sar shellcheck size sloccount ss tldr tokei tox tracepath traceroute"
    " tshark vitest vmstat whatis whois xmllint yamllint".split()
)
"""Whatever their arguments."""

_ONLY_ALONE = frozenset({"branch", "remote", "tag", "stash", "config", "context", "profile"})
"""Subcommands that list when nothing follows, and change something otherwise."""

_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "brew": "list info search",
        "cargo": "test check clippy tree search bench",
        "conda": "list info search",
        "docker": "ps images logs inspect version info top stats port diff history search",
        "gh": "status search",
        "git": "status log diff show rev-parse rev-list ls-files ls-tree ls-remote blame describe"
        " shortlog cat-file grep reflog name-rev merge-base for-each-ref check-ignore branch"
        " remote tag help version",
        "go": "test vet list version env doc",
        "gradle": "test tasks dependencies",
        "helm": "list ls status history show search version",
        "kubectl": "get describe logs explain version top api-resources cluster-info diff",
        "mvn": "test validate dependency:tree",
        "npm": "test t ls list view outdated audit search why version",
        "pip": "list show freeze check",
        "pip3": "list show freeze check",
        "pnpm": "test ls list view outdated why",
        "podman": "ps images logs inspect version info top stats port",
        "poetry": "show check",
        "rustup": "show",
        "systemctl": "status is-active is-enabled is-failed list-units list-unit-files show cat",
        "terraform": "plan validate show output version",
        "yarn": "test list why outdated",
    }.items()
}


def only_looks(argv: tuple[str, ...]) -> bool:
    """Whether a command changes nothing but, perhaps, files."""
    name = argv[0].rpartition("/")[2]
    if name in _LOOKS or (len(argv) == 2 and argv[1] in ("--version", "-V", "--help", "version")):
        return True
    words = _without_options(argv[1:])
    if not words or words[0] not in _SUBCOMMANDS.get(name, ()):
        return False
    return words[0] not in _ONLY_ALONE or len(words) == 1


def _without_options(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if not word.startswith("-")]
