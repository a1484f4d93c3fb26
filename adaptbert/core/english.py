"""Lists and figures as English writes them: in messages, prices and the report."""

from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    *before, last = [*items] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def amount(value: float) -> str:
    """A cost with three significant digits, and all those before the point: 12,345, 6.60, 0.0372; 0 is nothing."""
    if value == 0:
        return "0"
    power = int(f"{value:.2e}".partition("e")[2])  # of the rounded value: 9.996 is 10.0
    return f"{value:,.{max(0, 2 - power)}f}"


def token_count(tokens: int) -> str:
    """The number of tokens, in millions where there are some: 74,800 and 1.20 M."""
    return (f"{tokens:,}" if abs(tokens) < 1e6 else f"{amount(tokens / 1e6)} M").replace("-", MINUS)


def duration(seconds: float) -> str:
    """`about 9 minutes`."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minute{'' if seconds < 90 else 's'}"
    return f"about {seconds / 3600:.1f} hours"
