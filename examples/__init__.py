"""Small studies on the library, no part of the pipeline: one readable file each, whose beginning says how it is run.

    probes                 what do the layers of a checkpoint hold before fine-tuning, and which did a step change?
    cross_lingual          do two languages lie together in the layers of a checkpoint?
    dna_control            does pre-training help where its language cannot?
    what_is_learned_when   which kinds of words does pre-training learn first?
    docstrings             no question: it writes the text and labels of the demonstration
    notebook               run, scores, predictions and vectors from Python, in cells

Figures describe one training of each checkpoint: they have no interval and no verdict.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.runtime.user_errors import user_errors


def command(name: str, about: str | None) -> ArgumentParser:
    """Options of an example, whose docstring is the help."""
    prog = f"python -m examples.{name}"
    return ArgumentParser(prog=prog, description=about, formatter_class=RawDescriptionHelpFormatter)


def run(parser: ArgumentParser, main: Callable[..., object]) -> None:
    """Call it with the arguments by name."""
    arguments = vars(parser.parse_args())
    with user_errors():
        main(**arguments)


def positive(text: str) -> int:
    """An argument; where this is a ValueError, argparse says so."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def lines(path: Path, least: int) -> list[str]:
    """Lines of a file in UTF-8.

    Args:
        least: number of lines with text.

    Raises:
        BadData: it cannot be read, or has fewer.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise BadData(Code.FILE, path, f"cannot be read: {error.strerror}", "check the path") from None
    except UnicodeDecodeError as error:
        raise BadData(Code.ENCODING, path, f"byte {error.start} is not UTF-8", "save it as UTF-8") from None
    if (count := sum(bool(line.strip()) for line in text)) < least:
        raise BadData(
            Code.TOO_FEW_ROWS, path, f"{count} lines with text, expected {least} or more", "name a longer file"
        )
    return text
