"""A digest of the code that decides what a stage writes: of all modules that it imports, without words.

Comments, docstrings and the texts of errors that end a stage change no result, so they are not in the digest, and an
edit of them trains nothing again. Nor are packages that only start, stop and record a stage, and change nothing that it
writes (tests/pipeline/test_code_digest.py lists what is taken from them, and why).

The source is read, not run, so imports inside functions count as well. What is digested are the nodes of the syntax
tree, in a form that is the same in every version of Python.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

Sources = Mapping[str, Path]
SOURCES: Sources = {"adaptbert": Path(__file__).parents[1], "stages": Path("stages")}
"""Package of ours -> its folder: the library where it is installed, the stages in the project."""
CARRYING = ("runtime", "planning", "project", "flow", "release", "commands", "config")
"""Packages of adaptbert that change no output, with the files that lie directly in adaptbert/."""
DECIDING = ("config.schema", "config.plan")
"""What lies in one of these and decides nevertheless: the values in force, and the names of what is compared."""
READ = ("*.css", "*.js", "*.j2", "*.po")
"""Files beside a module that it may read."""
ENDING = {"UserError", "BadData", "BadParams", "Temporary", "Unwritable", "Diverged", "Contradiction"}
"""What ends a stage: the words of such an error go to the user and into no output."""


def code_digest(stage: str, sources: Sources = SOURCES) -> str:
    """Digest of the code of a stage: the same for code that writes the same, in a clone and installed.

    Args:
        stage: the name of its module in stages/.
        sources: where the packages lie.
    """
    digest = sha256()
    for name, path in sorted(files(f"stages.{stage}", sources).items()):
        digest.update(f"{name.as_posix()}\n".encode())
        digest.update(meaning(path.name, path.read_bytes()))
    return digest.hexdigest()[:16]


def files(module: str, sources: Sources = SOURCES) -> dict[Path, Path]:
    """The source of a module and of our modules that it imports, save those that change no output, and what lies
    beside them: `adaptbert/text/words.py` -> the file."""
    paths: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = source(name, sources)
        if path is not None and name not in paths and not carries(name, sources):
            paths[name] = path
            waiting += _imported(path.read_bytes())
    parents = {path.parent for path in paths.values()}
    beside = [path for folder in parents for pattern in READ for path in folder.glob(pattern)]
    read = [*paths.values(), *(path for path in beside if not path.name.startswith("."))]
    return {
        Path(package, path.relative_to(folder)): path
        for package, folder in sources.items()
        for path in read
        if path.is_relative_to(folder)
    }


def carries(module: str, sources: Sources = SOURCES) -> bool:
    """Whether a module starts, stops or records a stage, and changes nothing that it writes."""
    package, *below = module.split(".")
    if package != "adaptbert" or not below or ".".join(below[:2]) in DECIDING:
        return False
    return below[0] in CARRYING or (sources[package] / f"{below[0]}.py").is_file()


def source(module: str, sources: Sources = SOURCES) -> Path | None:
    """The file of a module of ours; None for other people's."""
    package, *below = module.split(".")
    if package not in sources:
        return None
    path = sources[package].joinpath(*below)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _imported(content: bytes) -> list[str]:
    """Every module that the source may import while it runs. `from a import b` names both `a` and `a.b`."""
    names = []
    for node in running(ast.parse(content)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        children = node.orelse
    for child in children:
        yield from running(child)


@cache
def meaning(name: str, content: bytes) -> bytes:
    """Bytes that are equal for two versions of a file that differ in words only.

    Raises:
        SyntaxError: the file is being written.
    """
    if not name.endswith(".py"):
        return content
    return _written(_Words().visit(ast.parse(content))).encode(errors="surrogatepass")


def _written(value: object) -> str:
    """A tree without places and empty fields: what Python's versions have in common."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = [
        f"{name}={_written(field)}" for name, field in ast.iter_fields(value) if field is not None and field != []
    ]
    return f"{type(value).__name__}({', '.join(fields)})"


class _Words(ast.NodeTransformer):
    """Takes out what a person reads: strings that stand alone, and those of errors that end a stage."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, body in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(body, list):
                rest = [statement for statement in body if not _is_text(statement)]
                setattr(node, name, rest or [ast.Pass()] if body else [])
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        silent: ast.AST = _Silent().visit(node) if _ends_a_stage(node) else self.generic_visit(node)
        return silent

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """`problem = f"..."` is a part of the error, where nothing else reads it."""
        of_errors = _names(*(call for call in ast.walk(node) if _ends_a_stage(call)))
        only_there = {name for name, count in _names(node).items() if count == of_errors[name]}
        for child in ast.walk(node):
            if isinstance(child, ast.Assign) and {ast.unparse(target) for target in child.targets} <= only_there:
                child.value = _Silent().visit(child.value)
        return self.generic_visit(node)


def _is_text(node: ast.stmt) -> bool:
    """A docstring, of a variable as well."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _ends_a_stage(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ENDING


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
