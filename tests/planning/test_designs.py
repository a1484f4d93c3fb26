"""What `plan` and `check` say of a design before it is trained; of a set of some kind, by the sets of that kind."""

import re
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.planning.designs import Designs, lines
from adaptbert.planning.workload import Amount, Amounts, Training, trainings
from adaptbert.statistics.known_spreads import CLASSES, TAGS
from adaptbert.statistics.power import POWER, Power
from tests.support.checked_files import write_document
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.known import known

SAID = re.compile(
    r"(?P<task>\w+), first question: a study of (?P<replicates>\d+) replicates, (?P<seeds>\d+) seeds"
    r"(?P<fewest> \(.*?\))? and (?P<rows>[\d,]+) test rows(?: \(as if .*?\))? "
    r"finds a gain four times in five if it is at least "
    r"(?P<low>[\d.]+) points where runs vary little, (?P<high>[\d.]+) points where they vary much "
    r"\(of (?P<sets>\d) sets that were studied\); on half of them (?P<gain>[\d.]+) points? would take (?P<needed>.*)"
)


def document(replicates: int = 2, seeds: int = 5, gain: float = 1.0, **changes: Any) -> dict[str, Any]:
    demo = params.read(ROOT / "presets/demo.yaml")
    demo["compare"] |= {"replicates": replicates, "min_gain": gain}
    return demo | {"finetune": demo["finetune"] | {"seeds": seeds}} | changes


def planned(recipe: Recipe, rows: int, monkeypatch: pytest.MonkeyPatch) -> list[Training]:
    """All trainings, on tasks with so many test rows."""
    amount = Amount(1500, 40_000, test_rows=rows, classes=13)
    monkeypatch.setattr(Amounts, "task", lambda *_: amount)
    return trainings(recipe, plan_file.expand(recipe), Amounts(recipe))


def said(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch, rows: int = 2000, minutes: float | None = None
) -> list[dict[str, str]]:
    return [
        known(SAID.fullmatch(line)).groupdict() for line in lines(recipe, planned(recipe, rows, monkeypatch), minutes)
    ]


def test_classes_and_tags_have_the_ranges_of_their_own_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    section, mention = said(Recipe(document()), monkeypatch)
    assert (section["task"], section["sets"], mention["sets"]) == ("section", str(len(CLASSES)), str(len(TAGS)))
    assert [section[key] for key in ("replicates", "seeds", "rows", "gain")] == ["2", "5", "2,000", "1"]
    assert float(section["low"]) < 7.7 < float(section["high"]), "what the demonstration could show afterwards"
    assert float(mention["high"]) < float(section["high"])


def test_of_tasks_with_one_metric_the_mean_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, tasks = Recipe(document()), document()["tasks"]
    twice = Recipe(document(tasks=tasks | {"again": tasks["section"]}))
    assert not [line for line in lines(alone, planned(alone, 2000, monkeypatch)) if "their mean" in line]
    *_, last = lines(twice, planned(twice, 2000, monkeypatch))
    assert last.startswith("where one metric compares several tasks, their mean is asked about first")


def test_a_larger_design_and_more_rows_show_less(monkeypatch: pytest.MonkeyPatch) -> None:
    highest = [
        float(said(Recipe(document(*design)), monkeypatch, rows)[0]["high"])
        for *design, rows in ((2, 3, 900), (2, 5, 900), (5, 12, 900), (5, 12, 9000))
    ]
    assert highest == sorted(highest, reverse=True)
    assert highest[0] > 15, "2 x 3 on 900 rows shows next to nothing, and says so beforehand"


def test_what_a_gain_would_take_is_a_design_or_rows_or_more_than_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def needed(gain: float, rows: int, minutes: float | None = None) -> str:
        return said(Recipe(document(gain=gain)), monkeypatch, rows, minutes)[0]["needed"]

    by_tokens = r"`replicates: \d+` and `seeds: \d+`, (\d\.\d) times the tokens of this plan"
    times = float(known(re.fullmatch(by_tokens, needed(3, 20_000)))[1])
    minutes = float(known(re.search(r"about (\d+) minutes", needed(3, 20_000, 100.0)))[1])
    assert minutes == pytest.approx(100 * times, abs=6)
    assert re.fullmatch(r"at least [\d,]+ test rows", needed(1, 300))
    assert re.fullmatch(r"at least [\d,]+ test rows", needed(1, 9)), "nine rows show nothing at all"
    assert needed(0.5, 10**6) == "more than 12 replicates and 20 seeds"


def test_the_cheapest_design_shows_it_on_half_of_the_sets_and_one_seed_fewer_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = Recipe(document())
    design = Designs(recipe, planned(recipe, 5000, monkeypatch), "section")
    replicates, seeds = known(design.cheapest(0.05, [2]))

    def showing(seeds: int) -> int:
        return sum(power.of(0.05) >= POWER for power in design.powers(replicates, seeds))

    assert showing(seeds - 1) <= showing(seeds)
    assert 2 * showing(seeds) >= len(CLASSES) > showing(3)
    assert design.cheapest(0.001, [2, 3]) is None


def test_nothing_is_said_where_nothing_can_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test rows to be read; no question about steps above general pre-training."""
    assert said(Recipe(document()), monkeypatch, rows=0) == []
    assert said(Recipe(document(arms=["scratch", "general"])), monkeypatch) == []
    once, *_ = said(Recipe(document(replicates=1, seeds=2)), monkeypatch)
    assert (once["replicates"], once["seeds"]) == ("2", "3")
    assert once["fewest"] == " (the fewest of a verdict; planned: 1 and 2)"


def test_answers_and_numbers_have_the_range_of_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    number = dict.fromkeys(("train", "dev", "test"), "files.jsonl") | {"type": "regression"}
    every, *_ = said(Recipe(document(tasks={"rating": number})), monkeypatch)
    assert every["sets"] == str(len(CLASSES) + len(TAGS))


def test_more_tasks_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    two = document()
    one = two | {"tasks": {"section": two["tasks"]["section"]}}
    alone, shared = (said(Recipe(each), monkeypatch)[0] for each in (one, two))
    assert float(alone["high"]) < float(shared["high"])


def test_plan_and_check_say_it_as_a_user_calls_them(own: Path) -> None:
    lines = [f'{{"text": "a room {n}", "label": "{"ab"[n % 2]}"}}\n' for n in range(300)]
    for split, part in (("train", lines[:200]), ("dev", lines[200:240]), ("test", lines[240:])):
        (own / f"mood.{split}.jsonl").write_text("".join(part), encoding="utf-8")
    files = {split: f"data/own/mood.{split}.jsonl" for split in ("train", "dev", "test")}
    write_document(params.read(Path("params.yaml")) | {"tasks": {"mood": {"type": "text-classification", **files}}})
    for command in ("plan", "check"):
        (line,) = [line for line in run(command).stdout.splitlines() if line.startswith("mood, first question: ")]
        assert known(SAID.fullmatch(line))["rows"] == "60", command


def test_rows_of_groups_are_said_to_be_taken_for_more_than_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = {name: dict(task) for name, task in document()["tasks"].items()}
    tasks["section"]["columns"], tasks["mention"]["columns"] = {"group": "author"}, {}
    recipe = Recipe(document(tasks=tasks))
    section, mention = lines(recipe, planned(recipe, 2000, monkeypatch))
    assert "2,000 test rows (as if each were of a group of its own; of fewer groups it shows less) finds" in section
    assert "2,000 test rows finds" in mention


def test_no_gain_beyond_the_range_of_scores_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(document())
    monkeypatch.setattr(Power, "detectable", None)
    monkeypatch.setattr(Designs, "needed", lambda *_: "more")
    line, *_ = lines(recipe, planned(recipe, 2000, monkeypatch))
    assert "more than 100 points" in line
    assert "inf" not in line
