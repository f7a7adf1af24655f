"""Which files of a user's folder stay out of a world: ignore files, and names of secrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".agentworldignore", ".gitignore")
"""In order of authority: what the first says about a path, the second cannot change."""

_SECRET_NAMES = (
    ".env",
    ".env.*",
    ".envrc",
    "*.env",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".vault_pass",
    "*.tfstate",
    "credentials.json",
    "service-account*.json",
)
_SECRET_DIRECTORIES = (".ssh", ".gnupg", ".aws", ".kube")
# Templates are committed on purpose, and a project often does not start without them.
_NOT_SECRET = (".env.example", ".env.sample", ".env.template", ".env.dist")


def is_secret(path: str, *, is_directory: bool) -> bool:
    """Whether the name is one that private keys, passwords or tokens usually have."""
    name = path.rpartition("/")[2].lower()
    if is_directory:
        return name in _SECRET_DIRECTORIES
    return name not in _NOT_SECRET and any(fnmatchcase(name, p) for p in _SECRET_NAMES)


@dataclass(frozen=True, slots=True)
class _Rules:
    source: str
    lines: list[str]
    spec: GitIgnoreSpec


@dataclass(slots=True)
class IgnoreRules:
    """The ignore files of a folder and of the folders below it, in git's own syntax."""

    _found: dict[str, dict[str, _Rules]] = field(default_factory=dict[str, dict[str, _Rules]])
    """Per name of ignore file: the rules of every directory that has one, by its prefix."""

    def enter(self, prefix: str, read: Callable[[str], str | None]) -> None:
        """Take in the ignore files of the directory `prefix` (empty, or ending in a slash)."""
        for name in IGNORE_FILES:
            text = read(name)
            if not text:
                continue
            # Only needed by folders that have such a file.
            from pathspec import GitIgnoreSpec

            lines = [line for line in text.removeprefix("\ufeff").splitlines() if line]
            spec = GitIgnoreSpec.from_lines(lines)
            self._found.setdefault(name, {})[prefix] = _Rules(prefix + name, lines, spec)

    def why_ignored(self, path: str, *, is_directory: bool) -> str:
        """The rule that leaves `path` out, or an empty string.

        A rule of a deeper directory wins over one further up, and the last match in a file wins.
        """
        for name in IGNORE_FILES:
            rules_by_prefix = self._found.get(name)
            if not rules_by_prefix:
                continue
            above = path.rpartition("/")[0]
            while True:
                prefix = above + "/" if above else ""
                if rules := rules_by_prefix.get(prefix):
                    below = path[len(prefix) :] + ("/" if is_directory else "")
                    result = rules.spec.check_file(below)
                    if result.include:
                        line = rules.lines[result.index] if result.index is not None else ""
                        return f"ignored by {rules.source}: {line.strip()}"
                    if result.include is False:
                        return ""
                if not above:
                    break
                above = above.rpartition("/")[0]
        return ""
