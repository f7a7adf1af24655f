"""Sessions with git, after the shares in which agents call it, for comparison with the real program.

`python -m tests.machine.git_sessions` runs them with the host's git 2.39.5 and writes down what it said.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path

RECORDED = Path(__file__).with_name("git_sessions.json")
PLACE = "/tmp/project"
START = """export HOME=/tmp/project/home GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8 T=1700000000
mkdir -p $HOME; cd /tmp/project
tick() { T=$((T+60)); export GIT_AUTHOR_DATE="@$T +0000" GIT_COMMITTER_DATE="@$T +0000"; }
tick
"""
_USER = """git config --global user.name 'Ada Example'; git config --global user.email ada@example.com
git config --global init.defaultBranch main
git init -q r; cd r
"""
_BASE = (
    _USER
    + """mkdir -p src docs
printf 'def add(a, b):\\n    return a + b\\n\\n\\ndef sub(a, b):\\n    return a - b\\n\\n\\ndef mul(a, b):\\n    return a * b\\n' > src/calc.py
seq 40 > numbers.txt; echo '# Project' > README.md; echo 'pages' > docs/index.md; printf '#!/bin/sh\\necho hi\\n' > run.sh; chmod +x run.sh
git add .; git commit -qm 'Begin the project'
tick; sed -i 's/a \\* b/a * b  # product/' src/calc.py; git commit -qam 'Comment on the product'
tick; echo 'More text' >> README.md; seq 5 >> docs/index.md; git add -A; git commit -qm 'Extend the documentation

The index has numbers now.'
tick
"""
)
_TWO = (
    _BASE
    + """git checkout -q -b feature; sed -i 's/return a - b/return a - b - 0/' src/calc.py; echo new > feature.txt; git add .; git commit -qm 'Work on a feature'
tick; git checkout -q main; sed -i '1s/.*/one/' numbers.txt; git commit -qam 'Change a number'; tick
"""
)
_CLASH = (
    _BASE
    + """git checkout -q -b other; sed -i 's/a + b/b + a/' src/calc.py; sed -i '3s/.*/three/' numbers.txt; git commit -qam 'Turn the sum around'
tick; git checkout -q main; sed -i 's/a + b/sum((a, b))/' src/calc.py; git commit -qam 'Use sum'; tick
"""
)


def _with(start: str, *bodies: str) -> list[str]:
    return [start + body + "\n" for body in bodies]


_EDIT = "sed -i 's/a - b/a - b + 0/' src/calc.py; "

_NAMED = """git config --global user.name 'Ada Example'; git config --global user.email ada@example.com
git config --global init.defaultBranch main
"""
_PACKAGE = (
    _NAMED
    + r'''git init -q p; cd p; mkdir -p pkg/db/models pkg/utils tests/db docs
cat > pkg/db/models/query.py <<'E'
import copy


class QuerySet:
    """Represent a lazy database lookup for a set of objects."""

    def __init__(self, model=None, query=None, using=None, hints=None):
        self.model = model
        self._db = using
        self._hints = hints or {}
        self._result_cache = None

    def __len__(self):
        self._fetch_all()
        return len(self._result_cache)

    def filter(self, *args, **kwargs):
        self._not_support_combined_queries('filter')
        return self._filter_or_exclude(False, args, kwargs)

    def exclude(self, *args, **kwargs):
        self._not_support_combined_queries('exclude')
        return self._filter_or_exclude(True, args, kwargs)

    def delete(self):
        """Delete the records in the current QuerySet."""
        self._not_support_combined_queries('delete')
        if self.query.is_sliced:
            raise TypeError("Cannot use 'limit' or 'offset' with delete.")
        del_query = self._chain()
        del_query._for_write = True
        return del_query


def get_related(names):
    out = {}
    for name in names:
        out[name] = copy.copy(name)
    return out
E
cat > pkg/utils/text.py <<'E'
import re


def capfirst(x):
    """Capitalize the first letter of a string."""
    return x and str(x)[0].upper() + str(x)[1:]


def slugify(value):
    value = re.sub(r'[^\w\s-]', '', value).strip().lower()
    return re.sub(r'[-\s]+', '-', value)
E
touch pkg/__init__.py pkg/db/__init__.py pkg/db/models/__init__.py pkg/utils/__init__.py tests/__init__.py
printf 'from pkg.utils import text\n\n\ndef test_cap():\n    assert text.capfirst("ab") == "Ab"\n' > tests/test_text.py
printf '*.pyc\n__pycache__/\n*.egg-info/\n.tox/\n' > .gitignore
printf 'Project\n=======\n\nA package.\n' > README.rst; printf '[metadata]\nname = pkg\n' > setup.cfg
git add .; git commit -qm 'Initial import'; tick
sed -i 's/strip().lower()/strip().lower()  # tidy/' pkg/utils/text.py; git commit -qam 'Fixed #1 -- Noted why slugs are tidied.'; tick
printf '\n\ndef phone(x):\n    return x\n' >> pkg/utils/text.py; printf '\nNotes\n-----\n' >> README.rst; git commit -qam 'Refs #2 -- Added phone().

It is used by forms only.'; tick
'''
)
_WEB = (
    _NAMED
    + r"""git init -q web; cd web; mkdir -p src/lib test
printf 'export function add(a, b) {\n  return a + b;\n}\n\nexport function div(a, b) {\n  return a / b;\n}\n' > src/lib/math.js
printf 'import { add } from "./lib/math.js";\n\nconsole.log(add(1, 2));\n' > src/index.js
printf '{\n  "name": "web",\n  "version": "1.0.0",\n  "scripts": {\n    "test": "node test"\n  }\n}\n' > package.json
printf 'node_modules/\ndist/\n.env\n' > .gitignore; printf '# web\n' > README.md
git add -A; git commit -qm 'feat: first version'; tick; git tag v1.0.0
sed -i 's/1.0.0/1.1.0/' package.json; git commit -qam 'chore: bump version'; tick; git tag -a v1.1.0 -m 'Release 1.1.0'
git checkout -q -b feature/sub; printf '\nexport function sub(a, b) {\n  return a - b;\n}\n' >> src/lib/math.js; git commit -qam 'feat: sub'; tick
printf 'import { sub } from "../src/lib/math.js";\nif (sub(2, 1) !== 1) throw new Error("sub");\n' > test/sub.js; git add -A; git commit -qm 'test: sub'; tick
git checkout -q main; printf '\nUsage: see src.\n' >> README.md; git commit -qam 'docs: usage'; tick
"""
)
_JOINED = (
    _WEB
    + "git merge -q --no-ff -m \"Merge branch 'feature/sub'\" feature/sub; tick; echo done >> README.md; git commit -qam 'docs: done'; tick\n"
)
_REMOTE = (
    _WEB
    + r"""git remote add origin https://github.com/example/web.git; mkdir -p .git/refs/remotes/origin; git rev-parse HEAD~1 > .git/refs/remotes/origin/main
"""
)
_APART = (
    _PACKAGE
    + r"""git checkout -q -b fix; sed -i 's/out = {}/out = dict()/' pkg/db/models/query.py; sed -i "s/A package./A fixed package./" README.rst; git commit -qam 'Use dict()'; tick
git checkout -q main; sed -i 's/out = {}/result = {}/' pkg/db/models/query.py; git commit -qam 'Rename out'; tick
"""
)
_PROGRAM = (
    _NAMED
    + r"""git init -q c; cd c; mkdir src include
printf '#include <stdio.h>\n\nstatic int helper(int a)\n{\n\treturn a + 1;\n}\n\nint main(int argc, char **argv)\n{\n\tint i;\n\n\tfor (i = 0; i < argc; i++) {\n\t\tprintf("%%s\\n", argv[i]);\n\t}\n\treturn helper(0) - 1;\n}\n' > src/main.c
printf '#ifndef UTIL_H\n#define UTIL_H\n\nint util(void);\n\n#endif\n' > include/util.h; printf 'CC = gcc\n\nall: main\n\nmain: src/main.c\n\t$(CC) -o $@ $<\n\nclean:\n\trm -f main\n' > Makefile
printf '*.o\n/main\n' > .gitignore; git add .; git commit -qm 'Start'; tick; printf 'int util(void)\n{\n\treturn 42;\n}\n' > src/util.c; git add .; git commit -qm 'Add util'; tick
"""
)


SESSIONS: list[str] = [
    *_with(
        _BASE,
        # diff
        _EDIT + "git diff",
        _EDIT
        + "git diff; echo $?; git diff --exit-code > /dev/null; echo $?; git diff --quiet; echo $?",
        _EDIT + "git diff --stat",
        _EDIT
        + "git diff --name-only; git diff --name-status; git diff --numstat; git diff --shortstat",
        _EDIT + "git diff HEAD",
        _EDIT + "git add -A && git diff --cached",
        _EDIT + "git add .; git diff; git diff --staged --stat; git diff --cached --name-only",
        _EDIT + "git diff -- src/calc.py; git diff src; git diff README.md; git diff -- nope",
        _EDIT + "git diff nope",
        _EDIT + "git diff -U0; git diff -U1 src/calc.py; git diff --unified=5",
        _EDIT + "git --no-pager diff --no-color HEAD -- src",
        _EDIT + "cd src; git diff; git diff --stat; git diff .; git diff calc.py",
        "git diff HEAD~1; git diff HEAD~1 HEAD --stat; git diff HEAD~2..HEAD; git diff HEAD~2...HEAD --name-only",
        "git diff HEAD~2 HEAD -- README.md",
        "rm README.md; git diff; git diff --stat; git diff --name-status",
        "chmod +x README.md; chmod -x run.sh; git diff; git diff --stat --summary",
        "printf 'a\\0b' > bin; git add bin; git diff --cached; git diff --cached --stat; git commit -qm b; printf 'a\\0bcd' > bin; git diff; git diff --stat; git diff --numstat",
        "git mv README.md READ.md; git diff --cached; git diff --cached --stat; git diff --cached --name-status; git status -s",
        "git mv docs/index.md docs/start.md; echo x >> docs/start.md; git add -A; git diff --cached --summary; git status",
        "git mv numbers.txt src/n.txt; sed -i 5,9d src/n.txt; git add -A; git diff --cached --stat; git commit -qm 'Move numbers'; git show --stat; git log --oneline --name-status -1",
        "printf 'no newline' > README.md; git diff; printf 'none' > README.md; git diff",
        "sed -i 's/return/return /' src/calc.py; git diff -w; git diff -b; git diff --ignore-all-space --stat; git diff --name-only",
        "seq 10 60 > numbers.txt; git diff numbers.txt; git diff --stat",
        "seq 400 > big.txt; git add big.txt; git commit -qm big; seq 2 3 900 > big.txt; git diff --stat; git diff --shortstat",
        "touch empty; git add empty; git diff --cached; git commit -qm empty; echo 1 > empty; git diff; rm empty; git diff",
        "ln -s README.md link; git add link; git diff --cached; git commit -qm link; ln -sf run.sh link; git diff; git status -s",
        "echo x > 'a b.txt'; echo z > 'ünïcode.txt'; git add .; git diff --cached; git diff --cached --stat; git status; git status -s",
        "git diff --cached; git diff HEAD; git diff --stat; echo $?",
        "printf 'class A:\\n    def f(self):\\n        x = 1\\n        y = 2\\n        z = 3\\n        a = 4\\n        b = 5\\n        return x\\n' > k.py; git add .; git commit -qm k; sed -i 's/b = 5/b = 6/' k.py; git diff",
        _EDIT + "git diff --diff-filter=M --name-only; git diff --diff-filter=A --name-only",
        _EDIT + "git diff HEAD --numstat",
        # status
        "git status; git status -s; git status --porcelain; git status -sb",
        _EDIT
        + "git status; echo new > new.txt; mkdir d; echo 1 > d/1; echo 2 > d/2; git status; git status -s; git status --porcelain -uall",
        _EDIT + "git add src; git status; echo more >> src/calc.py; git status; git status -s",
        "rm README.md; git status; git add -A; git status; git status --short",
        "git rm -q README.md; touch a; git add a; git status --porcelain; git status",
        "printf '*.log\\nbuild/\\n!keep.log\\n' > .gitignore; touch a.log keep.log; mkdir build; touch build/x; git status; git status -s --ignored; git add .; git status -s; true",
        "cd src; touch x ../y; git status; git status -s; git status --porcelain",
        _EDIT + "git status -uno; git status README.md; git status -s src",
        "git checkout -q HEAD~1; git status; git status -sb",
        "mkdir -p e/f/g; git status; touch e/f/g/h; git status -s; git add e; git status -s",
        # checkout, restore, reset
        _EDIT + "git checkout -- src/calc.py; git status -s; git checkout nope; echo $?",
        _EDIT + "git checkout .; git status",
        _EDIT + "git checkout src/calc.py README.md; git checkout -- nope.py",
        "git checkout -b work; git checkout main; git checkout -; git branch",
        "git checkout -b work; git checkout -b work; git checkout -B work; echo $?",
        "git checkout HEAD~1 -- README.md; git status; git diff --cached",
        "git checkout HEAD~1; git checkout main",
        _EDIT
        + "git checkout -b work; git commit -am 'Work here'; git checkout main; cat src/calc.py | head -6 | tail -1; git checkout work",
        _EDIT
        + "git branch old HEAD~2; git checkout old; echo $?; git stash; git checkout old; git status -s",
        "git branch old HEAD~1; echo u > docs/u; git checkout old; git status -s; git checkout main",
        "git switch -c topic; git switch main; git switch nope; git switch topic; git switch -; git switch --detach HEAD~1",
        _EDIT
        + "git restore src/calc.py; git status -s; "
        + _EDIT
        + "git add .; git restore --staged src/calc.py; git status -s; git restore .; git status -s; git restore nope",
        "git restore --source=HEAD~2 README.md; git status -s; git diff",
        _EDIT + "git reset --hard; git status; git reset --hard HEAD~1; git log --oneline",
        _EDIT
        + "git add .; git reset; git status -s; git add .; git reset HEAD src/calc.py; git reset -q; git status -s",
        "git reset --soft HEAD~1; git status; git commit -qm again; git log --oneline",
        "git reset HEAD~2; git status -s; git reset nope; git reset --hard nope; echo $?",
        # log, show
        "git log",
        "git log --oneline; git log -1; git log -n 2 --oneline; git log --oneline -2; git log --max-count=1 --format=%H",
        "git log -p; git log -p -1 --stat",
        "git log --stat; git log --oneline --stat -2; git log --name-only --oneline; git log --name-status -1",
        "git log --oneline -- README.md; git log README.md; git log --oneline src docs; git log -- nope; git log nope",
        "git log --format='%h %an <%ae> %ad %s' --date=short; git log --pretty=format:'%H|%cn|%ci|%d|%D|%b'; git log --format='%T %P %ct %at %aI%n%B' -1",
        "git log --pretty=oneline; git log --pretty=short; git log --pretty=full -1; git log --pretty=fuller -1; git log --abbrev-commit -1",
        "git log --author=Ada --oneline; git log --author=Bob --oneline; git log --grep=product --oneline; git log -i --grep=BEGIN --oneline; git log --reverse --oneline; git log --no-merges --oneline",
        "git log --skip 1 -n1 --oneline",
        "git log HEAD~1 --oneline; git log HEAD~2..HEAD --oneline; git log HEAD~1.. --oneline; git log ^HEAD~1 main --oneline; git log main..main",
        "git log -S product --oneline; git log --date=iso -1; git log --date=rfc -1 --date=unix",
        "git tag v1 HEAD~1; git log --oneline --decorate; git log --decorate -1; git branch b; git log --oneline --decorate=short",
        "git show; git show HEAD~1; git show --stat; git show HEAD~1 --name-only; git show -s; git show -s --format=%s HEAD~2",
        "git show HEAD:README.md; git show HEAD~1:src/calc.py; git show HEAD:nope; git show HEAD:docs; git show nope; cd src; git show HEAD:./calc.py | head -1",
        "git show --oneline --stat; git show --pretty=format:%an --name-status HEAD~1; git show HEAD -- README.md; git show --format= HEAD~1",
        "git show HEAD~2 --stat --summary; git show HEAD^^ -s --oneline",
        "git log --oneline --first-parent; git log -1 --format=%cd --date=format:%Y-%m-%d; git log --format='%x41%%%n' -1; true",
        # branch, tag, rev-parse
        "git branch; git branch -a; git branch -v; git branch --show-current; git branch b1; git branch b2 HEAD~1; git branch -v; git branch b1",
        "git branch x; git branch -d x; git branch -d x; git branch -D main; git branch -m x y; git branch -m trunk; git branch; git status -sb",
        "git checkout -qb t; echo 1 > 1; git add 1; git commit -qm t; git checkout -q main; git branch -d t; git branch -D t",
        "git branch 'bad name'; git branch -- ..x; git branch y nope; git branch --list 'm*'; git branch -vv",
        "git tag; git tag v1.0; git tag -a v1.1 -m 'A release'; git tag; git tag -l 'v1.*'; git tag v1.0; git tag -d v1.0; git show v1.1 -s; git rev-parse v1.1^{}",
        "git rev-parse HEAD; git rev-parse --short HEAD; git rev-parse --abbrev-ref HEAD; git rev-parse --show-toplevel; git rev-parse --is-inside-work-tree; git rev-parse --git-dir; git rev-parse HEAD~1 main; git rev-parse HEAD~9; git rev-parse --verify nope; git rev-parse -q --verify nope; echo $?",
        "cd src; git rev-parse --show-toplevel; git rev-parse --show-prefix; git rev-parse --git-dir; git rev-parse --show-cdup; git rev-parse --is-bare-repository",
        "git rev-parse HEAD^{tree} HEAD:README.md HEAD:; git rev-parse HEAD~2..HEAD; git rev-parse @; git rev-parse @{-1}; git checkout -qb b; git rev-parse --abbrev-ref @{-1}",
        "git merge-base HEAD HEAD~2; git merge-base --is-ancestor HEAD~1 HEAD; echo $?; git merge-base --is-ancestor HEAD HEAD~1; echo $?",
        "git reflog; git checkout -qb x; git commit --allow-empty -qm Empty; git reset -q --hard HEAD~1; git reflog; git reflog -2; git show HEAD@{1} -s --format=%s; git show HEAD@{99}",
        # add, commit, rm, mv
        _EDIT
        + "git add src/calc.py; git commit -m 'Change the difference'; git log --oneline -1; git status",
        _EDIT + "git commit -am 'All at once'; git commit -m nothing; git commit",
        "echo a > a; git add a; git commit -m $'Add a\n\nWith a body.'; git commit --amend -m 'Add the file a'; git log -1; git commit --amend --no-edit; git commit --allow-empty -m Empty",
        "git commit --amend --author='Bob <bob@example.com>' --no-edit; git log -1 --format='%an %cn'; echo 1 > 1; git add 1; git commit --author='Bob <b@c>' -m 'By Bob'",
        "echo msg > ../m; git commit --allow-empty -F ../m; git commit --allow-empty -m one -m two; git log -1; git commit --allow-empty -m ''; echo $?",
        "git add nope; git add; git add -n new 2>/dev/null; touch new; git add -v new; git add -A -v; echo $?",
        "echo '*.log' > .gitignore; touch x.log; git add x.log; echo $?; git add -f x.log; git status -s; git add -u; git add .; git status -s",
        "git rm README.md; git status -s; git rm nope; git rm docs; git rm -r docs; git rm --cached run.sh; git status -s; ls",
        "echo x >> README.md; git rm -f README.md; touch n; git add n; git rm --cached n; git status -s",
        "git mv README.md docs; git mv src lib; git status -s; git mv nope x; git mv run.sh docs/README.md; ls docs lib",
        "git ls-files; touch u; git ls-files -o; git ls-files --others --exclude-standard; "
        + _EDIT
        + "git ls-files -m; cd src; git ls-files; git ls-files nope; git ls-files --error-unmatch nope",
        "git grep return; git grep -n return; git grep -l add; git grep -i PROJECT; git grep -c return; git grep nothere; echo $?; git grep -n 'def .*b' -- '*.py'; git grep return HEAD~1; git grep -w a src; cd src; git grep -n def",
        "git blame src/calc.py; git blame -L 2,4 src/calc.py; git blame -L 9,+1 src/calc.py; git blame nope",
        _EDIT + "git blame -s src/calc.py | cut -c1-20",
        # config, remote
        "git config user.name; git config --get user.email; git config nope.nope; echo $?; git config user.name Local; git config --list; git config --unset user.name; git config user.name; git config --global alias.st 'status -s'; git config bad; cat .git/config",
        "git config core.editor true; git commit --amend; git config --unset nope.x; echo $?; git config --local -l; git -c user.name=Zed config user.name; git config remote.origin.url https://x.example/y.git; git remote; git config --get remote.origin.url",
        "git remote; git remote -v; git remote add origin https://github.com/example/project.git; git remote -v; git remote get-url origin; git push origin main",
        "git remote -v; git remote",
        # stash
        _EDIT
        + "git stash; git status -s; git stash list; git stash pop; git stash list; git stash pop",
        _EDIT
        + "git stash push -m 'half done'; git stash list; git stash show; git stash show -p; git stash apply; git stash drop; git stash drop",
        "git stash; echo 1 > new; git stash; git status -s",
        _EDIT
        + "git add .; echo r >> README.md; git stash; git stash; git stash pop --index; git status -s",
        _EDIT
        + "git stash; sed -i 's/a - b/a - b - 1/' src/calc.py; git stash pop; git commit -qam x; git stash pop; git status -s; cat src/calc.py",
        _EDIT
        + "echo r > README.md; git stash; git stash list; git stash show stash@{1} --stat; git stash drop stash@{0}; git stash apply stash@{5}; git stash clear; git stash list",
        # wrong use
        "git --version; git -C src status -s; git -C nope status",
        "cd .git; git status; git rev-parse --is-inside-git-dir; cd ../..; git status; git log; git add x; git commit -m x; git rev-parse HEAD",
        "cat .git/HEAD; ls .git | grep -v EDITMSG; cat .git/refs/heads/main; ls .git/refs; cat .git/logs/HEAD",
        "echo x > .git/index.lock; git add README.md; touch q; git add q; echo $?; rm .git/index.lock; git add q; git status -s",
    ),
    *_with(
        _TWO,
        "git log --oneline --all; git log --oneline main..feature; git log feature..main --oneline; git diff main feature --stat; git diff main...feature; git diff feature -- numbers.txt | head -5",
        "git merge feature; git log --oneline; git status; git log -1; git show",
        "git merge --no-ff -m 'Join the feature' feature; git log -1 --format=%p; git branch -d feature",
        "git merge --ff-only feature; echo $?; git checkout -q feature; git merge main",
        "git checkout feature; git checkout -q -b third; git commit -q --allow-empty -m more; git checkout -q feature; git merge third; git merge third; git log --oneline -3",
        "git diff feature~1 feature --stat; git branch -v; git log feature --oneline -1; git log -1",
        "echo dirty >> numbers.txt; git merge feature; git status -s; git checkout feature; git checkout -f feature; git status",
        "echo mine > feature.txt; git merge feature; echo $?; git checkout feature; rm feature.txt; git checkout feature; ls",
        "git checkout feature -- feature.txt; git status -s; git rm -q --cached feature.txt; git status -s; git checkout feature -- nope",
        "git merge -m M feature; git reset --hard HEAD~1; git log --oneline; git log --merges --oneline --all; git show HEAD^2",
        "git merge feature -q; git log --first-parent --oneline; git log --no-merges --oneline; git show --stat; git diff HEAD^1 --stat; git diff HEAD^2 --stat",
    ),
    *_with(
        _CLASH,
        "git merge other; echo $?; git status; cat src/calc.py; git merge --abort; git status",
        "git merge other; git status -s; git diff --name-only; git diff --name-only --diff-filter=U; git commit -m x; git checkout other",
        "git merge other; git checkout --ours src/calc.py; git add src/calc.py; git status; git commit --no-edit; git log -1",
        "git merge other; git checkout --theirs src/calc.py; head -2 src/calc.py; git add .; git commit -m 'Take theirs'; git status; git show --stat",
        "git merge nope; git merge other; git merge other; git stash; git reset --hard; git status -s; git merge --abort",
        "git rm -q src/calc.py; git commit -qm 'Remove it'; git merge other; git status; git status -s; git rm -q src/calc.py; git commit -qm done; git log --oneline -1",
        "git checkout -q other; git rm -q numbers.txt; git commit -qm gone; tick; git checkout -q main; sed -i 1d numbers.txt; git commit -qam cut; git merge other; git status -s; ls",
        "echo both > n.txt; git add .; git commit -qm n1; tick; git checkout -q other; echo other > n.txt; git add .; git commit -qm n2; git merge main; git status -s; cat n.txt",
    ),
    *_with(
        "",
        "git init; echo $?; git status; git init; ls -A .git; cat .git/config .git/HEAD",
        "git init -q -b main p; cd p; git status; git log; git diff; git branch; touch a; git status; git add a; git status; git commit -m x; echo $?",
        "git status; git log; git rev-parse --show-toplevel; git config --list; git config user.name X; git config --global user.name Y; git config user.name; git branch; git stash; git checkout x; git init -q --bare b.git; cd b.git; git status; git log",
        "git init -q p; cd p; git config user.email a@b.c; git config user.name A; echo x > f; git add f; git commit -m 'first'; git branch; git log --oneline; git checkout -b dev; git log --oneline --decorate; git show; git diff HEAD~1",
        "git init -q p; cd p; git rev-parse HEAD; git diff HEAD; git show; git stash; git reset; git reset --hard; git branch x; git tag t; git merge x; git rm x; git checkout -b y; git status; git commit --allow-empty -m e",
    ),
    *_with(
        _USER,
        "mkdir -p a/b; for i in 1 2 3; do echo $i > a/b/$i; done; git add a; git commit -m 'Three files'; rm -r a/b; git status; git commit -am 'And gone'; git log --stat; ls",
        "printf 'a\\r\\nb\\r\\n' > dos.txt; git add .; git commit -qm dos; printf 'a\\r\\nc\\r\\n' > dos.txt; git diff | cat -A",
        "seq 30 > f; git add .; git commit -qm 1; sed -i '2d;15s/.*/x/;28a new' f; git diff; git diff -U0; git diff --stat; git commit -qam 2; git show --format=%h",
        "echo a > f; git add .; git commit -qm f; ln -s f l; git add l; git commit -qm l; git status -s; rm l; git status -s; git diff; git rm -q l; git commit -m 'No link'",
        'for i in 1 2 3 4 5 6; do echo $i > f$i; git add .; git commit -qm "Commit $i"; tick; done; git log --oneline -3; git log HEAD~3 --oneline -1; git diff HEAD~5 --stat; git rev-parse --short HEAD~2; git log --oneline HEAD~4..HEAD~1; git show HEAD~3:f2; git reset -q --hard HEAD~3; git reflog | head -3; git log ORIG_HEAD --oneline -1',
        "mkdir 'dir with space'; echo 1 > 'dir with space/file one'; git add .; git commit -m 'Spaces'; git mv 'dir with space' plain; git status; git status -s; git commit -qm moved; git show --stat --format=%s",
    ),
    *_with(
        _BASE,
        # aliases, remotes, names, clean, commits of paths, untracked files in the stash
        "git init -q sub; touch sub/x y y.git; git clean -nd; git clean -fd; ls; git clean -fdx; ls",
        "ln -s /etc l; ln -s docs dl; mkdir d; ln -s ../README.md d/r; git clean -nd; git clean -fd; ls; ls docs",
        "echo '*.log' >> .git/info/exclude; touch a.log b; git status -s; git add .; git status -s",
        "git config --global core.excludesFile ~/ign; echo '*.x' > ~/ign; touch 1.x 2; git status -s",
        "git config core.excludesFile /tmp/project/r/ign; echo '*.x' > ign; touch 1.x 2; git status -s",
        "for c in comit frob lfs statsu chekout pus ad br sta log-x stauts rebas init-x pul l; do git $c; echo $?; done",
        "git config alias.st 'status -s'; touch x; git st; git config --global alias.last 'log -1 --oneline'; git last; git last --stat; git config alias.sts st; git sts; git stt; git config alias.a b; git config alias.b a; git a; echo $?; cd /; git co; git -c alias.co='status -s' co",
        "git mv README.md docs run.sh nope src; echo $?; git status -s; git mv README.md docs; git status -s",
        "git fetch; echo $?; git push; echo $?; git fetch origin; echo $?; git push origin main; echo $?",
        "git ls-remote; echo $?; git config alias.foo 'foo -x'; git foo; echo $?; git clone https://u:t@github.com/e/p; git clone https://github.com/e/p/; ls",
        "git remote add origin https://github.com/e/p.git; git fetch; echo $?; git pull; echo $?; git push; echo $?; git push -u origin main; git fetch --all; echo $?; git ls-remote; git pull origin main; git fetch -q --tags; git push --tags; git push -f; git fetch upstream",
        "git clone https://github.com/e/p.git; echo $?; git clone git@github.com:e/p.git x 2>/dev/null; git clone -q https://github.com/e/p; git clone --depth 1 https://github.com/e/p.git /tmp/project/q; ls; git clone ../nope",
        "git remote add origin https://github.com/e/p.git; git remote add origin x; echo $?; git remote set-url origin https://github.com/f/p.git; git remote -v; git remote set-url nope x; echo $?; git remote get-url nope; echo $?; git remote; cat .git/config; git remote remove origin; git remote rm nope; echo $?; cat .git/config; ",
        "for n in bad..name 'a b' x.lock -x '' 'a~b' /a a/ a//b .a a/.b 'a@{b' 'a\\b' 'a*'; do git tag -- \"$n\"; echo $?; git branch -- \"$n\"; echo $?; done; git tag; git branch",
        "git tag v1; git tag -f v1 HEAD~1; git tag -f v1 HEAD~1; git tag -f v2; git config --get nosuch; echo $?; git config nosuch; echo $?; git config a 1; echo $?; git tag -a -f v1 -m x; git show -s --format=%s v1",
        "git branch z; git branch a; git checkout -qb feat/x; git log --oneline --decorate; git log -1 --format='%d|%D'; git tag b; git tag a -m x",
        "echo 1 >> README.md; echo 2 >> run.sh; git add run.sh; git commit -m 'Only this' -- README.md; git status -s; git commit -m 'And' run.sh docs; git log --oneline --stat -2; touch new; git commit -m n new; echo $?; rm numbers.txt; git add new; git commit -qm gone numbers.txt; git status -s; git show --stat --format=%s",
        "touch a b.log src/u; mkdir -p d/e k; touch d/e/f k/x.log; echo '*.log' > .gitignore; git clean -n; git clean -nd; git clean -ndx; git clean; echo $?; git clean -f; git status -s; git clean -fd; git status -s --ignored; git clean -fdx; git status -s --ignored; git clean -fd; echo $?",
        "touch a src/u; mkdir d; touch d/x; git clean -f src; git clean -fdq d; ls; cd src; touch z ../y; git clean -n; git clean -fn ..; git clean -nX; cd ..; printf 'd/\\n*.o\\n' > .gitignore; mkdir d; touch d/1 d.o; git clean -ndX; git clean -fdX",
        "git branch old HEAD~1; git branch --contains HEAD~1; git branch --contains HEAD; git branch --merged; git branch --merged old; git branch --no-merged old; git branch --no-merged; git branch -a --contains main; git branch --contains nope; echo $?; git checkout -q old; git branch --contains; git branch --contains HEAD -v",
        "touch u; echo y >> README.md; git stash -u; git status -s; git stash show; git stash list; git stash pop; git status -s; touch v; git stash push --include-untracked -m both; ls; touch u; git stash pop; echo $?; rm u v; git checkout -q .; git stash pop; ls; git stash -u -q; git stash; git stash drop; touch w; git stash -u; git stash apply; echo $?",
        "git config alias.ci commit; git config alias.lg 'log --oneline --decorate'; echo x >> README.md; git ci -am 'Via alias'; git lg -2; git lgg; git Status; echo $?",
        "mkdir -p out/a; touch out/a/1 out/2 tmp.txt; git clean -f; ls; git clean -fd; ls; git clean -fd; mkdir empty; git clean -nd; git clean -f -x nothere; echo $?; cd docs; touch k; git clean -f; ls",
        "touch a; echo z >> numbers.txt; git commit -m 'One file' numbers.txt; git add a; git commit -qm 'Only a' a; echo r >> README.md; git commit --amend -m 'With README' README.md; git show --stat --format=%s",
        "mkdir n; echo 1 > n/1; chmod +x n/1; echo 2 > 'two words'; git stash -u -m wip; ls; git status; git stash show -p; git stash apply; git status -s; ls -l n | cut -c1-10; git stash list; git stash drop -q; git stash list",
    ),
    *_with(
        _TWO,
        "git branch --merged; git branch --no-merged; git branch --merged feature; git branch --contains feature~1; git merge -q feature; git branch --merged; git branch -d feature; git branch --merged main -v; git branch --no-merged=main; git branch --contains=HEAD",
        "git remote add origin git@github.com:e/p.git; git remote -v; git remote set-url origin https://e.example/p; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git push; echo $?; git pull; echo $?; git fetch -p; git remote remove origin; git config --list --local; git push",
        "git tag -f v1; git tag v1; git tag -f v1 feature; git tag 'v1 x'; git log --oneline --all --decorate; git checkout -q feature; git tag rel/1; git branch rel; git log -1 --decorate --oneline",
    ),
    *_with(
        _TWO,
        "git cherry-pick feature; git reflog -3; git show -s --format=fuller; git cherry-pick feature; echo $?; git status; cat .git/MERGE_MSG; git cherry-pick --skip; git reflog -2; git revert HEAD; git log -1; git reflog -2; git revert --no-edit HEAD~1; echo $?; git cherry-pick --abort; git revert --abort; git cherry-pick --continue; git cherry-pick nope; git status; git revert --no-edit HEAD HEAD~1; git revert -n HEAD; git status; git revert --abort; git status; git cherry-pick -x feature; git cherry-pick --skip",
    ),
    *_with(
        _CLASH,
        "git cherry-pick other; echo $?; git status; cat .git/MERGE_MSG; head -9 src/calc.py; git cherry-pick other; git cherry-pick --continue; git cherry-pick --abort; git reflog -3; git status; git cherry-pick other; git checkout --theirs src/calc.py; git add .; git status; git cherry-pick --continue; git log -1; git cherry-pick --continue --no-edit; git reset -q --hard HEAD~1; git cherry-pick other; git add .; git commit --no-edit; git reflog -4; git revert HEAD~1; git status; git commit -am x; git log -1",
    ),
    *_with(
        _TWO,
        'echo x >> src/calc.py; git cherry-pick feature; echo $?; git add .; git cherry-pick feature; echo $?; git revert HEAD; echo $?; git reset -q --hard; echo x >> numbers.txt; git revert HEAD; echo $?; git checkout -q .; git cherry-pick -n feature; echo $?; cat .git/MERGE_MSG; git status; git commit -m "with own"; git reflog -2; git reset -q --hard HEAD~1; git merge -q --no-ff -m J feature; git revert HEAD; echo $?; git revert -m 1 HEAD; echo $?; git log -1 --format=%B; git revert -m 3 HEAD~1; echo $?; git cherry-pick -m 2 HEAD; echo $?; git cherry-pick main..main; git cherry-pick HEAD..HEAD~1; git log --oneline -5',
    ),
    *_with(
        _TWO,
        'git cherry-pick feature; git checkout -q -b z; git cherry-pick -x feature; git checkout -q -b y; git status; git checkout -q -b w HEAD~1; echo 1 > w; git add w; git commit -qm "w\n\nSigned-off-by: A <a@b>"; git checkout -q z; git cherry-pick -x w; git log -1 --format=%B; git cherry-pick -n w; git status -s; git revert -n HEAD; git status -s; git commit; git revert --continue; git log -3; git revert -n HEAD; git checkout -q -f main; git status; git merge -q feature; echo x >> src/calc.py; git commit -qam y; git cherry-pick feature; git commit --amend -m x; git commit -am x README.md',
    ),
    *_with(
        _CLASH,
        "git checkout -q other; git cherry-pick main; git add .; git commit -q --no-edit;  git revert --no-edit HEAD~1; git status; git diff --name-only; git revert --abort; git status -s; git revert HEAD~1; git add .; git revert --continue; git log -2; git reflog -3",
    ),
    *_with(
        _TWO,
        "git rev-list --count HEAD; git rev-list HEAD -n 2; git rev-list nope; git rev-list --all; git rev-list --left-right --count main...feature; git rev-list --left-right main...feature; git rev-list --max-parents=0 HEAD; git rev-list -1 HEAD -- README.md; git rev-list --oneline -2 HEAD; git rev-list --count main..feature; git rev-list --count --all; git rev-list HEAD --no-merges --reverse; git rev-list --count --since=2023-11-13 HEAD; git rev-list feature ^main; git log --branches --oneline; git log --tags --oneline; git rev-list -n 1 --abbrev-commit HEAD",
    ),
    *_with(
        _TWO,
        "git cat-file -t HEAD; git cat-file -p HEAD; git cat-file -p HEAD^{tree}; git cat-file -p HEAD:src; git cat-file -s HEAD:README.md; git cat-file -e HEAD:nope; echo $?; git cat-file -e nope; echo $?; git cat-file -e 1234567890123456789012345678901234567890; echo $?; git cat-file -p 1234567890123456789012345678901234567890; echo $?; git cat-file -t 1234567890123456789012345678901234567890; echo $?; git cat-file -p nope; git cat-file blob HEAD:README.md; git cat-file commit HEAD:README.md; echo $?; git cat-file -p HEAD:nope; git cat-file -t nope; git cat-file -e HEAD; echo $?; git tag -a v1 -m x; git cat-file -t v1; git cat-file -p v1; git cat-file commit v1; git show nope:x; git cat-file -p nope:x; git cat-file -p HEAD:README.md; git cat-file -s HEAD",
    ),
    *_with(
        _TWO,
        "git ls-tree HEAD; git ls-tree -r HEAD; git ls-tree -r --name-only HEAD; git ls-tree HEAD src docs/; git ls-tree -l HEAD README.md src/calc.py; git ls-tree -r -t HEAD src; git ls-tree -d HEAD; git ls-tree nope; git ls-tree HEAD:README.md; git ls-tree HEAD nope; echo $?; cd src; git ls-tree HEAD; git ls-tree --full-tree HEAD; git ls-tree -r HEAD --name-only --full-name; git ls-tree HEAD ../docs/ calc.py; git ls-tree HEAD:docs; cd ..; git ls-tree --name-only feature docs/; git ls-tree -r feature --name-only src; git ls-tree -r --long HEAD",
    ),
    *_with(
        _TWO,
        "git symbolic-ref HEAD; git symbolic-ref --short HEAD; git symbolic-ref nope; git symbolic-ref refs/heads/main; git symbolic-ref -q refs/heads/main; echo $?;  rm -f .git/logs/HEAD; git checkout -q HEAD~1; git symbolic-ref HEAD; git symbolic-ref -q --short HEAD; echo $?; git symbolic-ref refs/remotes/origin/HEAD; echo $?; git reflog",
    ),
    *_with(
        _TWO,
        'git describe; git describe --always; git describe --tags --always --dirty; git tag l1 HEAD~1; git describe; git describe --tags; git tag -a v1 -m v1 HEAD~2; git describe; git describe --tags; git describe --long --tags l1; git describe --exact-match; git describe --tags --abbrev=0; git describe --abbrev=10; git describe HEAD~2; git describe HEAD~3; git describe --tags HEAD~3; git describe nope; echo >> README.md; git describe --dirty; git describe --dirty=-mod --tags; git describe --match "l*" --tags; git describe --dirty HEAD; git describe --tags feature; git describe --always --abbrev=4; git describe --tags --exact-match l1; git tag -a v2 -m v2; git tag -a v3 -m v3; git describe; git describe --always --dirty',
    ),
    *_with(
        _TWO,
        'git shortlog -sn; git shortlog -sn HEAD; git shortlog -sne --all; git shortlog HEAD; git shortlog feature~1..feature; git shortlog nope; git commit -q --allow-empty --author="Bob <b@c>" -m "By Bob"; git commit -q --allow-empty --author="aaron <a@c>" -m "By aaron"; git shortlog -s HEAD; git shortlog -s -n -e HEAD; git shortlog -n main; git shortlog -sn --no-merges HEAD~2..HEAD; git shortlog HEAD -- README.md',
    ),
    *_with(
        _BASE,
        'git log --since=2023-11-14T22:15:00 --oneline; git log --until="2023-11-14 22:15:00" --oneline; git log --after=2023-11-13 --before=2023-11-16 --oneline; git log --since="2 weeks ago" --oneline; git log --since=yesterday; git log --since="10 years ago" --oneline --until="1 month ago"; git log --since=3.days.ago -p; git mv README.md READ.md; git commit -qm mv; echo 1 >> READ.md; git commit -qam ed; git log --follow --oneline READ.md; git log --follow --oneline --stat READ.md;git log --follow -p --format=%h -- READ.md; git log --follow --oneline --name-status -2 READ.md; cd src; git log --follow --oneline calc.py; git log --follow -1 ../READ.md; git log --since=1.week --before=2023-01-01',
    ),
    *_with(
        _BASE,
        r'printf "a \nb\n  \tc\n<<<<<<< x\n\n\n" >> README2; printf "x\t \n" >> src/calc.py; printf "\n" >> numbers.txt; printf "a\r\n" >> docs/index.md; git diff --check; echo $?; git add .; git diff --cached --check; echo $?; git diff --check; echo $?; git diff --check HEAD -- src; git diff --check --stat HEAD; git diff HEAD~1 HEAD --check; printf "end \n" > README.md; git diff --check; git rm -q -f README2; git diff HEAD --check; git mv numbers.txt n; git diff --cached --check',
    ),
    *_with(
        _TWO,
        "git push fork; echo $?; git push fork main; git remote add fork https://e.example/x.git; git push fork; git push fork main; git push fork HEAD; git push nope HEAD:main; git push -u fork main; git remote add origin https://o.example/y; git push; git push fork; git push origin; git push https://e.example/z; git push ../nope",
    ),
    *_with(
        _PACKAGE,
        "echo 'x = 1' > tests/db/test_new.py; sed -i 's/if self.query.is_sliced:/if self.query.is_sliced or self.query.distinct:/' pkg/db/models/query.py; git add -A && git diff --cached; git diff --cached --stat; git reset; git status -s; git checkout -- . ; git status -s",
        "git checkout -b fix-issue; sed -i 's/if self.query.is_sliced:/if self.query.is_sliced or self.query.distinct:/' pkg/db/models/query.py; git add pkg/db/models/query.py; git commit -m 'Fix delete() on distinct querysets'; git log -1 --stat; git diff main; git checkout main; git diff main fix-issue; git checkout fix-issue",
        "git checkout HEAD~1 -- pkg/utils/text.py; git diff --cached; git diff HEAD; git checkout HEAD -- pkg/utils/text.py; git status; git checkout main -- pkg/utils/text.py",
        "git checkout HEAD~2; git log --oneline; git checkout main; git branch",
        "mkdir -p build; echo a > build/a; echo b > x.pyc; git status; git status --ignored; git clean -nd; git clean -fd; git status",
        "git mv pkg/utils/text.py pkg/utils/strings.py; git status; git diff --cached; git diff HEAD --stat; git commit -qm 'Rename text'; git log --follow --oneline pkg/utils/strings.py; git show --stat; git checkout HEAD~1; git checkout -",
        "git rev-parse HEAD; git rev-parse --abbrev-ref HEAD; git rev-parse --show-toplevel; git status | head -5; git log -1 --format='%H %an %ad'; git checkout --detach; git checkout -q main; git branch",
        "git diff HEAD~1 HEAD; git diff HEAD~2..HEAD -- README.rst; git diff HEAD^ HEAD --name-only; git diff HEAD~1 --stat; git checkout HEAD~1 README.rst; git diff HEAD",
        "sed -i '/^def phone/,$d' pkg/utils/text.py; git diff; git diff --check; git diff HEAD~1 -- pkg/utils/text.py; git checkout HEAD~1 pkg/utils/text.py; git status -s; git checkout HEAD pkg/utils/text.py; git diff HEAD",
        "git checkout nope; git checkout -- nope.py; git checkout main; git diff nope; git show nope:README.rst",
        "git diff HEAD@{1}; git diff @~1 @ --stat; git checkout @~1 -q; git status; git checkout -f main; git diff main@{0} --stat; git diff --exit-code; echo $?",
    ),
    *_with(
        _WEB,
        "git branch -a; git log --oneline --all; git log main..feature/sub --oneline; git diff main...feature/sub; git diff main..feature/sub --stat; git checkout -b third feature/sub; git diff main...third --name-status",
        "git checkout feature/sub; git log --oneline -3; git diff main -- src; git checkout main; git status; git checkout feature/sub -- src; git diff --cached --stat; git checkout HEAD -- src",
        "git merge feature/sub; git log --oneline -3; git show --stat; git diff HEAD~1 --name-only",
        "git tag; git describe --tags; git diff v1.0.0 v1.1.0; git show v1.1.0 --stat; git checkout v1.0.0; git checkout -q main",
        "git merge-base main feature/sub; git rev-list --count main..feature/sub; git cherry-pick feature/sub~1; git log --oneline -2; git diff HEAD~1",
        "git show feature/sub:test/sub.js; git checkout feature/sub -- test/sub.js; git status; git diff --cached --name-status; git checkout HEAD -- test/sub.js; git status -s; git rm -q --cached test/sub.js; git status -s",
        "git stash list; echo 1 >> README.md; git stash push -m wip; git stash list; git stash show -p; git checkout stash@{0} -- README.md; git diff --cached; git stash drop",
        "git rm src/index.js; git status; git diff --cached --stat; git reset HEAD src/index.js; git checkout src/index.js; ls src; git diff",
    ),
    *_with(
        _JOINED,
        "git log -3; git log --oneline --no-merges -4; git show HEAD~1 --stat; git revert --no-edit HEAD; git diff HEAD~1; git log --oneline -1",
        "git branch --merged; git branch -d feature/sub; git reflog -3; git checkout HEAD~1; git status; git checkout main",
    ),
    *_with(
        _REMOTE,
        "git remote -v; git branch -r; git fetch origin; git diff origin/main; git log origin/main..HEAD --oneline; git status",
        "git checkout -b fix/x origin/main; git branch -vv; git push origin fix/x; git status -sb; git checkout main",
    ),
    *_with(
        _APART,
        "git merge fix; git merge --abort; git status; git diff fix --stat; git checkout fix; git diff main -- pkg",
        "git log --oneline --all --decorate; git diff main fix; git checkout fix; git checkout main -- README.rst; git status; git stash; git checkout main",
    ),
    *_with(
        _PROGRAM,
        "sed -i 's/i < argc/i < argc - 1/' src/main.c; git diff; git diff --stat; git add -u; git diff --cached; git commit -m 'Skip the last'; git show --stat --oneline; git checkout -q HEAD~1; git diff main --stat; git checkout main",
        "git log --oneline --name-only; git log --format='%h %cd %s' --date=iso; git show HEAD --format=%B; git diff HEAD~1 --name-status; git ls-files; git checkout HEAD~1 -- .; git status -s",
        "sed -i '1i /* Licence */' src/main.c src/util.c include/util.h; git diff --stat; git diff; git diff -- '*.h'; git diff -- . ':!src'; git checkout -- '*.c'; git status --short",
    ),
    *_with(
        _NAMED,
        "mkdir n; cd n; git init; git status; git diff; git log; echo a > a; git add a; git diff --cached; git commit -m First; git diff HEAD~1",
    ),
    *_with(
        _TWO,
        'echo x >> README.md; git diff --find-renames HEAD --stat; printf "# Project  \\nMore text\\t\\n" > README.md; git diff --ignore-space-at-eol; git reset HEAD nope.txt; echo $?; git reset -- nope; echo $?; git reset nope; echo $?; git reset HEAD -- README.md; git rm -q -f README.md;  git reset README.md; git reset -q HEAD; git status -s; git rm -q run.sh; git reset HEAD run.sh; git checkout run.sh; git show -M --stat feature',
    ),
    *_with(
        _TWO,
        'git checkout feature -- feature.txt; git status -s; git checkout HEAD -- feature.txt; git status -s; git checkout HEAD -- .; git checkout HEAD~1 -- .; git status -s; git add -A; git commit -qm F; git checkout main~1 -- .; git status -s; git restore -s HEAD~1 .; git status -s; mkdir -p e/f; touch g.o; echo "*.o" > .gitignore; git status --ignored; git status -s --ignored; mkdir h; touch h/x.o; git status --ignored -s',
    ),
    *_with(
        _TWO,
        "mkdir -p .git/refs/remotes/origin; git remote add origin u; git rev-parse HEAD > .git/refs/remotes/origin/main; git rev-parse feature > .git/refs/remotes/origin/dev; git checkout --detach; git reflog -2; git checkout --detach; git checkout; git checkout -q main; git checkout -b x origin/main; git branch z origin/main; git branch -v; git switch -c w origin/dev; git checkout -q dev; git checkout -q x; git reset -q --hard origin/dev; git config branch.x.merge refs/heads/dev; tail -1 .git/logs/refs/heads/x; cat .git/config; git status; git reset -q --hard HEAD~1; git status; git commit -qm new --allow-empty; git status -sb; git branch -v; git branch -vv; git branch -d q; git branch -D z; git config branch.x.merge refs/heads/gone; git branch -vv",
    ),
]


def record() -> None:
    """Runs every session with the host's git."""
    found: list[dict[str, object]] = []
    for script in SESSIONS:
        shutil.rmtree(PLACE, ignore_errors=True)
        Path(PLACE).mkdir()
        done = subprocess.run(
            ["bash", "-c", START + script], capture_output=True, cwd=PLACE, check=False,
            env={"PATH": "/usr/bin:/bin", "TERM": "dumb", "HOSTNAME": "debian", "USER": "root"}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        texts = [data.decode("utf-8", "surrogateescape") for data in (done.stdout, done.stderr)]
        texts[1] = texts[1].replace(f"root@{socket.gethostname()}.(none)", "root@debian.(none)")
        found.append(
            {"script": script, "stdout": texts[0], "stderr": texts[1], "exit_code": done.returncode}
        )
    shutil.rmtree(PLACE, ignore_errors=True)
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    record()
