"""Options of a command that are pairs: `--rename OLD=NEW`."""

from collections.abc import Sequence

from adaptbert.codes import Code
from adaptbert.errors import BadParams


def pairs(option: str, form: str, values: Sequence[str]) -> dict[str, str]:
    """What stands on the left of `=` -> what stands on the right.

    Args:
        option: for the messages.
        form: the same, e.g. `OLD=NEW`.

    Raises:
        BadParams: no pair, or the same name twice on the left.
    """
    written: dict[str, str] = {}
    for value in values:
        left, _, right = value.partition("=")
        if not left or not right:
            raise BadParams(Code.CONTRADICTION, option, f"'{value}' is no pair", f"write {option} {form}")
        if written.setdefault(left, right) != right:
            raise BadParams(Code.CONTRADICTION, option, f"'{left}' twice", f"write {option} {form} once for each")
    return written
