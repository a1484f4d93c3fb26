"""Which of our modules import which: the source is read, not run, so imports inside functions count as well."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from adaptbert.config.code_digest import running

ROOT = Path(__file__).parents[2]
PACKAGES = ("adaptbert", "stages", "flows")


def modules(folder: str) -> list[str]:
    """Every module below a folder; a package by its own name."""
    return [module_name(path) for path in sorted((ROOT / folder).rglob("*.py"))]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def source(module: str) -> Path | None:
    """The file of a module of ours; None for other people's and for folders without `__init__.py`."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    path = ROOT / module.replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def imports(module: str, *, with_types: bool = False) -> tuple[str, ...]:
    """Every module that one of ours may import. `from a import b` names both `a` and `a.b`.

    Args:
        with_types: also what only a type checker sees.
    """
    path = source(module)
    assert path is not None, module
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: list[str] = []
    for node in ast.walk(tree) if with_types else running(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: write the whole name"
            base = node.module or ""
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(names)


def ours(module: str, *, with_types: bool = False) -> list[str]:
    """Imports that are modules of ours."""
    return sorted({name for name in imports(module, with_types=with_types) if source(name) is not None} - {module})


def package(module: str) -> str:
    """The folder of a module, below adaptbert: `finetuning.tasks`; empty for what lies in adaptbert itself."""
    path = source(module)
    assert path is not None, module
    return ".".join(path.parent.relative_to(ROOT / "adaptbert").parts)


def reached(module: str, *, but: Iterable[str] = ()) -> set[str]:
    """A module and all of ours that are imported with it.

    Args:
        but: packages that are not entered.
    """
    stops = tuple(but)
    done: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in done or (name.startswith("adaptbert") and package(name).partition(".")[0] in stops):
            continue
        done.add(name)
        waiting += ours(name)
    return done
