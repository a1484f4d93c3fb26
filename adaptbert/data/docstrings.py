"""Extracts docstrings from Python source with ast; no source is imported or run."""

import ast
import warnings
from collections.abc import Iterator
from inspect import cleandoc
from typing import NamedTuple


class Docstring(NamedTuple):
    line: int
    """1-based line where the string begins."""
    text: str
    """Without the indentation of the code around it."""


def docstrings(source: bytes) -> Iterator[Docstring]:
    """Docstrings of the module, its classes and functions, and those passed to `add_newdoc` and the like, in order.

    Functions inside functions are skipped: they rarely have docstrings.

    Raises:
        SyntaxError: not Python of this version.
    """
    if b'"""' not in source and b"'''" not in source:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes of other packages
        try:
            module = ast.parse(source)
        except ValueError as error:  # NUL bytes, before Python 3.12
            raise SyntaxError(str(error)) from None
    yield from _own(module)
    yield from _inside(module.body)


def _inside(body: list[ast.stmt]) -> Iterator[Docstring]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _own(node)
            if isinstance(node, ast.ClassDef):
                yield from _inside(node.body)
        elif isinstance(node, ast.If | ast.For | ast.With | ast.Try):
            yield from _inside(node.body)
            yield from _inside(getattr(node, "orelse", []))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _added(node.value)


def _own(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Docstring]:
    text = ast.get_docstring(node)
    if text:
        yield Docstring(node.body[0].lineno, text)


def _added(call: ast.Call) -> Iterator[Docstring]:
    """`add_newdoc("numpy", "ndarray", ("sum", "...the docstring..."))`: how compiled functions are documented."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if "newdoc" not in name:
        return
    strings = [
        node
        for argument in call.args
        for node in (argument.elts if isinstance(argument, ast.Tuple) else [argument])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    longest = max(strings, key=lambda node: len(str(node.value)), default=None)
    if longest is not None and "\n" in str(longest.value):
        yield Docstring(longest.lineno, cleandoc(str(longest.value)))
