"""What a user sees while a model trains, and what the tracking run gets of it."""

import io
import sys

import pytest

from adaptbert.runtime import progress
from adaptbert.runtime.progress import Progress, StatusLine
from tests.support.short_runs import LoggedRun

ERASE, SHOWN_CURSOR = "\r\x1b[2K", "\x1b[?25h"


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def written_over(self) -> list[str]:
        """What stood in the line of the bar, one after the other; without what it begins with, a bar of nothing."""
        return self.getvalue().split(ERASE)[1:]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_line_tells_step_loss_speed_and_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run = LoggedRun()
    shown = Progress(100, run, "seed 2")
    shown.begin(20, {"tokens": 5_000, "chosen": 700})  # of an earlier process
    clock.now += 4
    assert not shown.line.is_due()
    with shown.paused():
        clock.now += 1_000  # measuring
    clock.now += 6
    assert shown.line.is_due()
    shown.tell(40, {"tokens": 9_000, "chosen": 1_700}, 2.5)
    assert not shown.line.is_due()
    assert capsys.readouterr().out == "  seed 2  step     40/100  loss 2.500  400 tokens/s  0:30 left\n"
    assert run.metrics == [("train/tokens_per_second", 400.0, 40)]


def test_lines_become_rarer(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """A training of an hour has some sixty lines, and one of a minute three."""
    shown, came = StatusLine(sys.stdout, 3600), []
    for second in range(1, 301):
        clock.now += 1
        if shown.is_due():
            shown.show(second, "line")
            came.append(second)
    assert came == [6, 17, 38, 79, 140, 201, 262]
    assert capsys.readouterr().out.count("line") == len(came)


def in_terminal(monkeypatch: pytest.MonkeyPatch, stream: str = "stdout", **variables: str) -> Terminal:
    """To be called in the test itself: before it, pytest sets the streams once more."""
    terminal = Terminal()
    monkeypatch.setattr(sys, stream, terminal)
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    return terminal


def test_in_a_terminal_a_bar_is_written_over(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, run = in_terminal(monkeypatch), LoggedRun()
    shown = Progress(20, run)
    shown.begin(0, {})
    with shown.line.closing():
        assert terminal.getvalue().endswith(SHOWN_CURSOR), "a killed process leaves the cursor"
        for step in range(5, 21, 5):
            clock.now += 1
            assert shown.line.is_due()
            shown.tell(step, {"tokens": 100 * step}, 1.0)
        print("  warning: a spike", at := f"http://host/{'path/' * 20}")
    bars = terminal.written_over()
    assert [bar.count("━") for bar in bars[:4]] == [7, 15, 22, 30]
    assert all(bar.endswith(" left") for bar in bars[:4])
    assert bars[4].startswith(f"  warning: a spike {at}\n"), "above the bar, on a line of its own, however long"
    assert "\n" not in "".join(bars[:4])
    assert bars[-1].endswith(f"0:00 left\n{SHOWN_CURSOR}"), "what is printed next has a line of its own"
    assert {step for _, _, step in run.metrics} == {20}, "not logged twice a second"


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({"COLUMNS": "40"}, "step     10/20  loss 1.000  100 tokens/…"),
        ({"TERM": "dumb"}, "  step     10/20  loss 1.000  100 tokens/s  0:10 left\n"),
    ],
    ids=["a narrow one does not wrap", "one that cannot write over a line gets lines"],
)
def test_other_terminals(clock: Clock, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], shown: str) -> None:
    terminal = in_terminal(monkeypatch, **variables)
    training = Progress(20, LoggedRun())
    clock.now += 10
    with training.line.closing():
        training.tell(10, {"tokens": 1000}, 1.0)
    assert (terminal.written_over() or [terminal.getvalue()])[0] == shown


def test_what_is_printed_to_another_stream_stays_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`adaptbert predict -o -`: answers go to stdout, a bar to stderr."""
    terminal = in_terminal(monkeypatch, "stderr")
    with StatusLine(terminal, None).closing():
        print("an answer")
        print("a warning", file=sys.stderr)
    assert capsys.readouterr().out == "an answer\n"
    assert "a warning\n" in terminal.getvalue()
    assert "an answer" not in terminal.getvalue()
