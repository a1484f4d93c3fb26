"""How many stages have ended, and the time left: from those of their kind, from others of their base, or not at all."""

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptbert.config import plan as planning
from adaptbert.flow import pace
from adaptbert.flow.pace import Pace, Training, trainings
from tests.support.checked_files import lines, mood, write
from tests.support.commands import in_a_demo

CELLS = {f"cell@{number}": Training(("finetune", "small", "mood"), 2) for number in range(4)}
STEP = {"step": Training(("pretrain", "small", ""), 1)}
GRAPH = {"read": [], "step": ["read"], **{cell: ["step"] for cell in CELLS}, "compare": [*CELLS]}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(pace, "time", clock)
    return clock


def run(shown: Pace, clock: SimpleNamespace, seconds: float, *stages: str, has_run: bool = True) -> list[str]:
    """Side by side; what is said as each ends."""
    for stage in stages:
        shown.begin(stage)
    clock.now += seconds
    said = []
    for stage in stages:
        assert shown.end(stage, has_run) == seconds
        said.append(str(shown))
    return said


def test_the_time_left_is_that_of_the_rest_by_those_that_ended(clock: SimpleNamespace) -> None:
    """Nothing is said before a training has ended; then the rest of the graph is played."""
    shown = Pace(GRAPH, STEP | CELLS, jobs=2)
    assert run(shown, clock, 9, "read") == ["1 of 7"]
    assert run(shown, clock, 60, "step") == ["2 of 7, about 4 minutes left"], "two by two, each of twice as many tokens"
    both = run(shown, clock, 120, "cell@0", "cell@1")
    assert both == ["3 of 7, about 2 minutes left", "4 of 7, about 2 minutes left"]
    shown.begin("cell@2")
    clock.now += 30
    assert shown.seconds_left() == 120, "of the other one, in the second place"
    clock.now += 200
    assert shown.seconds_left() == 120, "one that takes longer than expected is about to end"
    shown.end("cell@2")
    assert str(shown) == "5 of 7, about 3 minutes left", "more than the mean of 120, 120 and 230 s"
    run(shown, clock, 1, "cell@3")
    assert str(shown) == "6 of 7", "what does not train takes seconds"
    assert run(shown, clock, 1, "compare") == ["7 of 7"]


@pytest.mark.parametrize("seconds", [100, 300, 50])
def test_the_load_of_the_last_stages_is_that_of_the_others(clock: SimpleNamespace, seconds: float) -> None:
    """Three of a kind at another load: those of a kind that ended before it was so, and those of one that has not."""
    kinds = {"early": "pretrain", "late": "domain_transfer", "other": "task_transfer"}
    sizes = {f"{name}@{place}": Training((kind, "small", ""), 1) for name, kind in kinds.items() for place in range(5)}
    shown = Pace(dict.fromkeys(sizes, ()), sizes, jobs=1)
    run(shown, clock, 100, "early@0")
    run(shown, clock, 100, "late@0")
    for place in range(1, 4):
        run(shown, clock, seconds, f"late@{place}")
    needed = {name: shown._needed(name) for name in ("early@1", "late@4", "other@0")}
    assert needed == {name: pytest.approx(seconds, rel=0.2) for name in needed}
    assert shown.seconds_left() == pytest.approx((4 + 1 + 5) * seconds, rel=0.2)


def test_jobs_and_sizes_count(clock: SimpleNamespace) -> None:
    graph = {name: [] for name in "abcd"}
    sizes = {name: Training(("pretrain", "small", ""), size) for name, size in zip("abcd", (1, 1, 2, 3), strict=True)}
    for jobs, seconds in ((1, 600), (2, 400), (16, 300)):
        shown = Pace(graph, sizes, jobs)
        run(shown, clock, 100, "a")
        assert shown.seconds_left() == seconds


def test_devices_have_room_for_so_many(clock: SimpleNamespace) -> None:
    """Two halves side by side, then the whole of the device; what needs none runs beside it."""
    sizes = {name: Training(("pretrain", "small", ""), 1) for name in "abcde"}
    parts = {"a": Fraction(1, 2), "b": Fraction(1, 2), "c": Fraction(1, 2), "d": Fraction(1)}
    shown = Pace({name: [] for name in "abcde"}, sizes, 16, parts)
    run(shown, clock, 100, "a")
    assert shown.seconds_left() == 200, "b and c, then d and e"


def test_a_measurement_takes_as_long_as_others_that_ended(clock: SimpleNamespace) -> None:
    """While none has, nothing; none tells how long a training takes."""
    measured = {name: Training(("measure", "small", ""), 0) for name in ("one", "two")}
    shown = Pace({"one": [], "step": [], "two": []}, STEP | measured, jobs=1)
    run(shown, clock, 10, "one")
    assert shown.seconds_left() is None
    run(shown, clock, 60, "step")
    assert shown.seconds_left() == 10


def test_what_dvc_had_says_nothing_of_a_training(clock: SimpleNamespace) -> None:
    shown = Pace(GRAPH, STEP | CELLS, jobs=2)
    run(shown, clock, 2, "read", "step", "cell@0", has_run=False)
    assert shown.seconds_left() is None


def test_a_kind_of_which_none_has_begun_goes_first() -> None:
    shown = Pace(GRAPH, STEP | CELLS, jobs=2)
    shown.begin("step")
    assert sorted(["step", "cell@1", "read"], key=shown.is_known) == ["cell@1", "step", "read"]


def test_kinds_and_tokens_are_those_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task is a kind of its own, tokens of different texts are not; seeds count."""
    in_a_demo(tmp_path, monkeypatch)
    (tmp_path / "data/own").mkdir(parents=True, exist_ok=True)
    rows = lines("train.jsonl", *({"text": "one two three", "label": f"c{n % 2}"} for n in range(40)))
    write(None, {"epochs": 3, "labels": 20, "seeds": 2}, mood=mood(train=rows))
    planned = trainings()
    assert {stage: planned.pop(stage) for stage in [*planned] if stage.startswith("measure@")} == {
        f"measure@{key}": Training(("measure", "small", ""), 0) for key in planning.read().measure
    }
    steps = {stage: training for stage, training in planned.items() if not stage.startswith("finetune")}
    assert {training.kind for training in steps.values()} == {(stage.partition("@")[0], "small", "") for stage in steps}
    cells = [training for stage, training in planned.items() if stage.startswith("finetune@mood-")]
    assert {*cells} == {Training(("finetune", "small", "mood"), 2 * 3 * 20 * 5)}, "three words, [CLS] and [SEP]"
