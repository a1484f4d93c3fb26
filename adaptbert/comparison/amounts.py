"""Costs and chances as text: rounded, and never to a zero that is none."""

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def amount(value: float) -> str:
    """A cost with three significant digits, and all those before the point: 12,345, 6.60, 0.0372; 0 is nothing."""
    if value == 0:
        return "0"
    power = int(f"{value:.2e}".partition("e")[2])  # of the rounded value: 9.996 is 10.0
    return f"{value:,.{max(0, 2 - power)}f}"


def bytes_of(size: int) -> str:
    """The size of files: 812 bytes, 4.6 kB, 1,203.4 GB."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), (1, ""))
    return f"{size / unit:,.1f} {name}" if name else f"{size} bytes"


def at_least(value: float, places: int) -> str:
    """A chance or a share with so many places, `<0.001` where it is smaller and not 0."""
    least = 10**-places
    return f"<{least:.{places}f}" if 0 < value < least else f"{value:.{places}f}"
