"""Which of our files a stage imports: the truth behind the code `deps` in dvc.yaml.

    python -m tests.import_closure            # what each stage imports
    python -m tests.import_closure --write    # rewrite the code deps in dvc.yaml, leave all else as it is

The source is read, not run: imports in functions count, those under `if TYPE_CHECKING:` do not, and neither does
`importlib.import_module("...")`, which is how adaptbert.entry reaches what must not be a dependency.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("adaptbert", "stages")
RESOURCES = (".j2", ".css", ".js")  # what the modules of a package read from beside themselves


def closure(module: str, root: Path = ROOT) -> list[str]:
    """Files of our packages that `python -m module` reads, sorted, relative to `root`; with templates and styles."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = source(name, root)
        if path is None or name in found:
            continue
        found[name] = path
        waiting += imports(path, name)
        waiting += [name.rpartition(".")[0]] if "." in name else []  # the packages above are imported, too
    files = set(found.values())
    for path in found.values():
        if path.name == "__init__.py":
            files |= {resource for resource in path.parent.iterdir() if resource.suffix in RESOURCES}
    return sorted(path.relative_to(root).as_posix() for path in files)


def source(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module of ours; None for other people's and for folders without `__init__.py`."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    path = root / module.replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def imports(path: Path, module: str) -> tuple[str, ...]:
    """Every module that the file may import. `from a import b` names both `a` and `a.b`."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: list[str] = []
    for node in running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


def running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        children = node.orelse
    for child in children:
        yield from running(child)


def rewrite(text: str, root: Path = ROOT) -> str:
    """dvc.yaml with true code deps: after the data deps of each stage, in alphabetical order."""
    lines: list[str] = []
    stage, indent = "", None
    for line in [*text.splitlines(), "end:"]:
        if indent is not None and not line.startswith((f"{indent}- ", f"{indent}#")):
            lines += [f"{indent}- {path}" for path in closure(f"stages.{stage}", root)]
            indent = None
        if name := re.fullmatch(r"  (\w+):", line):
            stage = name[1]
        if deps := re.fullmatch(r"( +)deps:", line):
            indent = deps[1] + "  "
        if indent is None or not is_code(line.strip().removeprefix("- ")):
            lines.append(line)
    return "\n".join(lines[:-1]) + "\n"


def is_code(path: str) -> bool:
    """Whether a dependency is a file of ours rather than data."""
    return path.endswith((".py", *RESOURCES)) and path.partition("/")[0] in PACKAGES


def main() -> None:
    target = ROOT / "dvc.yaml"
    if "--write" in sys.argv[1:]:
        target.write_text(rewrite(target.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for path in sorted((ROOT / "stages").glob("*.py")):
        print(f"{path.stem}: {' '.join(closure(f'stages.{path.stem}'))}")


if __name__ == "__main__":
    main()
