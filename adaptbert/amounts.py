"""Costs and chances as text: rounded, and never to a zero that is none."""

from math import floor, log10

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def amount(value: float, places: int) -> str:
    """A cost with so many places, but with up to two digits where it is less: 1,234.5, 6.6, 0.037; 0.0 is nothing."""
    if 0 < abs(value) < 10**-places:
        return f"{value:.{1 - floor(log10(abs(value)))}f}".rstrip("0")
    return f"{value:,.{places}f}"


def bytes_of(size: int) -> str:
    """The size of files: 812 bytes, 4.6 kB, 1,203.4 GB."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), (1, ""))
    return f"{size / unit:,.1f} {name}" if name else f"{size} bytes"


def at_least(value: float, places: int) -> str:
    """A chance or a share with so many places, `<0.001` where it is smaller and not 0."""
    least = 10**-places
    return f"<{least:.{places}f}" if 0 < value < least else f"{value:.{places}f}"
