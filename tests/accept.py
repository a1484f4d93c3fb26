"""Take over edits that change words only: `make accept`, or

    python -m tests.accept

An edit of a comment, of a docstring or of the message of an error changes no result, but DVC sees other bytes and would
train again. This command compares the code of today with the code that dvc.lock was written for, which git has: without
comments, docstrings, and the strings of errors that end a stage, such as `BadData(...)`. Where nothing else differs, it
writes the new digest into dvc.lock; all else is left to `dvc repro`.
"""

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from dvc.exceptions import DvcException
from dvc.repo import Repo

from tests.support.imports import is_code

COMMITS = 1000
"""So many of the last commits that touch a path are looked at for the code that dvc.lock was written for."""
NO_OUTPUT = {"UserError", "BadData", "BadParams", "Diverged", "TooManyBad", "contradiction"}
"""What ends a stage: the words of such an error go to the user and into no output."""


class Words(ast.NodeTransformer):
    """Takes out what a person reads: strings that stand alone, and those of errors that end a stage."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, body in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(body, list):
                rest = [statement for statement in body if not _is_text(statement)]
                setattr(node, name, rest or [ast.Pass()] if body else [])
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return _Silent().visit(node) if _ends_a_stage(node) else self.generic_visit(node)  # type: ignore[no-any-return]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """`problem = f"..."` is a part of the error, where nothing else reads it."""
        of_errors = _names(*(call for call in ast.walk(node) if _ends_a_stage(call)))
        only_there = {name for name, count in _names(node).items() if count == of_errors[name]}
        for child in ast.walk(node):
            targets = child.targets if isinstance(child, ast.Assign) else []
            if targets and {ast.unparse(target) for target in targets} <= only_there:
                child.value = _Silent().visit(child.value)
        return self.generic_visit(node)


def _is_text(node: ast.stmt) -> bool:
    """A docstring, of a variable as well."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _ends_a_stage(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NO_OUTPUT


def _names(*nodes: ast.AST) -> Counter[str]:
    """How often each variable is read."""
    names = [child for node in nodes for child in ast.walk(node) if isinstance(child, ast.Name)]
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))


class _Silent(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        values = [value for value in node.values if not isinstance(value, ast.Constant)]
        return ast.JoinedStr(values) if values else ast.Constant("")


def meaning(name: str, content: bytes) -> str:
    """Equal for two versions of a file that differ in words only."""
    if name.endswith(".py"):
        with suppress(SyntaxError):  # while it is being written
            return ast.dump(Words().visit(ast.parse(content)))
    return hashlib.sha256(content).hexdigest()


def accept(root: Path) -> list[str]:
    """Write the digests of equal code into dvc.lock; what was done, a line for each folder or file of code."""
    verdicts: dict[tuple[str, str], tuple[str, bool]] = {}
    with Repo(str(root)) as repo, repo.lock:
        for stage in repo.index.stages:
            if getattr(stage, "cmd_changed", False):  # the lock file would get the new command, too
                continue
            is_touched = False
            for dep in stage.deps:
                recorded = dep.hash_info.value if is_code(dep.def_path) else None
                if recorded is None or not dep.changed_checksum():
                    continue
                if (dep.def_path, recorded) not in verdicts:
                    verdicts[dep.def_path, recorded] = judge(repo, dep, recorded)
                if verdicts[dep.def_path, recorded][1]:
                    dep.save()
                    is_touched = True
            if is_touched:
                stage.dump(update_pipeline=False)
    return sorted(f"{path}: {line}" for (path, _), (line, _) in verdicts.items()) or ["no code has changed"]


def judge(repo: Repo, dep: Any, digest: str) -> tuple[str, bool]:
    """Whether the code of a dependency means what it meant when DVC gave it this digest."""
    root = Path(repo.root_dir)
    before = version(root, dep.def_path, digest)
    if before is None:
        return "no commit has the code that dvc.lock was written for; `dvc repro` runs it", False
    here = root / dep.def_path
    # What DVC reads, whatever git knows of it.
    paths = map(Path, repo.dvcignore.find(dep.fs, dep.fs_path)) if here.is_dir() else [here]
    after = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    others = sorted(
        name
        for name in before.keys() | after.keys()
        if name not in before or name not in after or meaning(name, before[name]) != meaning(name, after[name])
    )
    if others:
        return f"more than comments, docstrings and errors differs in {', '.join(others)}; `dvc repro` runs it", False
    return "only comments, docstrings or errors differ: taken over", True


def version(root: Path, path: str, digest: str) -> dict[str, bytes] | None:
    """The files below a path, by name, in the last commit in which DVC would give the path this digest."""
    for commit in git(root, "rev-list", "-n", str(COMMITS), "HEAD", "--", path).split():
        lines = git(root, "ls-tree", "-r", "-z", commit, "--", path).split("\0")
        files = {name: entry.split()[2] for entry, _, name in (line.partition("\t") for line in lines) if name}
        if digest_of(root, path, files) == digest:
            return {name: content(root, blob) for name, blob in files.items()}
    return None


def digest_of(root: Path, path: str, files: dict[str, str]) -> str:
    """What DVC 3 records for a file, or for a folder: the MD5 of a sorted list of its files with theirs."""
    sums = {name: hashlib.md5(content(root, blob), usedforsecurity=False).hexdigest() for name, blob in files.items()}
    if set(files) == {path}:
        return sums[path]
    entries = [{"md5": md5, "relpath": PurePosixPath(name).relative_to(path).as_posix()} for name, md5 in sums.items()]
    listed = json.dumps(sorted(entries, key=lambda entry: entry["relpath"]), sort_keys=True)
    return hashlib.md5(listed.encode(), usedforsecurity=False).hexdigest() + ".dir"


@cache
def content(root: Path, blob: str) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", blob], cwd=root, capture_output=True, check=True).stdout


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    os.environ.setdefault("DVC_NO_ANALYTICS", "1")
    try:
        lines = accept(Path.cwd())
    except (DvcException, subprocess.CalledProcessError, FileNotFoundError) as error:
        sys.exit(f"error: no repository of git and DVC with a dvc.lock that can be read: {error}")
    print("\n".join(lines))
    sys.exit(any("`dvc repro`" in line for line in lines))
