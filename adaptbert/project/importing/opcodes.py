"""What a pickle would build and call, by its opcodes alone: nothing of it is run.

torch's unpickler runs no code of a file, but it hashes the keys of dicts and prints what it refuses. In a pickle an
object can refer to an earlier one, so 60 opcodes `(x, x)` make a tuple of 2^60 values: Python would hash it for
centuries, and no signal ends that. Keys of other types than text could be refused, but they are only one way to it
(pairs of an OrderedDict, the text of an error). So everything that a file builds is counted with all its repetitions,
before torch reads it. What tensors need is a few values for each of them.
"""

import pickletools
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any

MOST_VALUES = 2_000_000
"""In a pickle, each counted as often as something refers to it, and a hundred characters as one; Python hashes or
prints so many in a second. The 200 tensors of a BERT are some ten thousand."""
_TOO_MANY = f"it builds more than {MOST_VALUES:,} values"
_OF_LEGACY = 5
"""Pickles at the beginning of a file of torch before 1.6: magic number, protocol, system, content, storage keys."""
_ADDS = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
"""Opcodes that change the object below their arguments."""


class TooLarge(Exception):
    """What the file builds is more than `MOST_VALUES`, or holds itself."""


@dataclass(eq=False, slots=True)
class _Value:
    """An object that a pickle builds.

    Attributes:
        size: of itself, without its parts.
        parts: what it was made from.
        word: its text; empty for all else.
    """

    size: int = 1
    parts: list["_Value"] = field(default_factory=list)
    word: str = ""


def names_called(file: Path, *, is_zip: bool) -> Iterator[str]:
    """The classes and functions that the pickles of a file name, `module.name`, up to where it is damaged.

    Args:
        is_zip: whether it is a file of torch 1.6 or later.

    Raises:
        TooLarge: reading it would not come to an end.
        Exception: of any kind, where it is damaged.
    """
    if is_zip:
        import torch

        # By the reader that `torch.load` uses: another one might see another pickle in the same archive.
        yield from _names_of(BytesIO(torch._C.PyTorchFileReader(str(file)).get_record("data.pkl")))
        return
    with file.open("rb") as opened:
        for number in range(_OF_LEGACY):
            if number and not opened.peek(1):
                break  # another program's pickle, and torch will say so
            yield from _names_of(opened)


def _names_of(stream: IO[bytes]) -> Iterator[str]:
    """Those of one pickle; the stream then stands behind it."""
    stack: list[_Value] = []
    marks: list[int] = []
    memo: dict[Any, _Value] = {}
    dropped: list[_Value] = []
    for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        kind = opcode.name
        if number > MOST_VALUES:
            raise TooLarge(_TOO_MANY)
        if kind == "MARK":
            marks.append(len(stack))
        elif "PUT" in kind or kind == "MEMOIZE":
            memo[len(memo) if kind == "MEMOIZE" else argument] = stack[-1]
        elif "GET" in kind:
            stack.append(memo[argument])
        elif kind == "DUP":
            stack.append(stack[-1])
        elif kind in ("GLOBAL", "INST", "STACK_GLOBAL"):
            words = str(argument).split(" ") if argument is not None else [value.word for value in stack[-2:]]
            yield ".".join(words)
            _apply(opcode, argument, stack, marks)
        elif kind in ("POP", "POP_MARK", "STOP"):
            is_mark = kind == "POP_MARK" or (marks and marks[-1] == len(stack))
            begin = marks.pop() if is_mark else len(stack) - 1
            dropped += stack[begin:]
            del stack[begin:]
        else:
            _apply(opcode, argument, stack, marks)
    _check_size(_Value(parts=[*stack, *dropped]))


def _apply(opcode: pickletools.OpcodeInfo, argument: object, stack: list[_Value], marks: list[int]) -> None:
    """Take what the opcode takes from the stack; what it makes has that as its parts."""
    if pickletools.markobject in opcode.stack_before:
        begin = marks.pop()
        below = opcode.stack_before.index(pickletools.markobject)
    else:
        below = 1 if opcode.name in _ADDS else 0
        begin = len(stack) - len(opcode.stack_before) + below
    if begin < below:
        raise ValueError(f"{opcode.name} without its arguments")
    parts = stack[begin:]
    del stack[begin:]
    if opcode.name in _ADDS:
        stack[-1].parts += parts
        return
    word = argument if isinstance(argument, str) else ""
    size = 1 + len(argument) // 100 if isinstance(argument, str | bytes | bytearray) else 1
    stack += [_Value(size, parts, word) for _ in opcode.stack_after]


def _check_size(whole: _Value) -> None:
    """Count all values below one, each as often as it is referred to.

    Raises:
        TooLarge: more than `MOST_VALUES`, or a value that holds itself.
    """
    sizes: dict[int, int] = {}
    above: set[int] = set()
    stack: list[tuple[_Value, Iterator[_Value]]] = [(whole, iter(whole.parts))]
    while stack:
        value, parts = stack[-1]
        above.add(id(value))
        part = next((part for part in parts if id(part) not in sizes), None)
        if part is not None and id(part) in above:
            raise TooLarge("it builds a value that holds itself")
        if part is not None:
            stack.append((part, iter(part.parts)))
            continue
        sizes[id(value)] = value.size + sum(sizes[id(each)] for each in value.parts)
        if sizes[id(value)] > MOST_VALUES:
            raise TooLarge(_TOO_MANY)
        above.discard(id(value))
        stack.pop()
