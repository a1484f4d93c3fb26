"""The table of known spreads is what the committed runs give, and foretells what their own studies could show."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from adaptbert.planning.designs import LARGE
from adaptbert.statistics.known_spreads import CLASSES, TAGS, SetSpread
from adaptbert.statistics.power import Components, Power
from adaptbert.statistics.spread import MADE_ONCE, Runs, Spread
from tests.support.demonstration import own_run
from tests.support.imports import ROOT
from tests.support.known import known

EVERY = {**CLASSES, **TAGS}
RECORDS = {"section": "metrics/comparison.json", "mention": "metrics/comparison.json"}
RECORDS |= {name: f"docs/results/minilm_{name}.json" for name in ("rct_sections", "ncbi_disease")}
STUDIES = {"ewect_usual": "weibo", "ewect_virus": "weibo", "chemprot": "biomedical"}


class Studied(NamedTuple):
    """What a record says of a set: runs by arm, the largest share that test rows have in the variance of a difference,
    and the two arms of the recipe."""

    arms: Mapping[str, Runs]
    of_rows: float
    test_rows: int
    recipe: tuple[str, str]


def by_replicate(runs: list[tuple[int, int, float]]) -> dict[int, dict[int, float]]:
    scores: dict[int, dict[int, float]] = {}
    for replicate, seed, score in runs:
        scores.setdefault(replicate, {})[seed] = score
    return scores


def recorded(path: str, name: str) -> Studied:
    """A set of a comparison as the product writes it."""
    tasks = json.loads((ROOT / path).read_text("utf-8"))["tasks"]
    task = next(each for each in tasks if each["name"] == name)
    arms = {
        arm["name"]: by_replicate([(run["replicate"], run["seed"], run["score"]) for run in arm["runs"]])
        for arm in task["arms"]
    }
    rows = max(each["difference"]["variance"]["rows"] for each in task["answers"])
    first = task["answers"][0]
    return Studied(arms, rows, task["rows"]["test"], (first["arm"], first["other"]))


def older(page: str, name: str) -> Studied:
    """A set of a study from random weights; the number of its test rows, or of different texts, is on the page."""
    own: dict[str, Any] = json.loads((ROOT / f"docs/results/{page}.json").read_text("utf-8"))[name]["small"]
    arms = {arm: by_replicate(each["runs"]) for arm, each in own.items() if "runs" in each}
    rows = max(dict(each["variance"])["rows"] for each in own["steps"].values())
    text = (ROOT / f"docs/results/{page}.md").read_text("utf-8")
    *_, count = re.findall(r"[\d,]+", known(re.search(rf"{name} \(([^)]*)\)", text))[1])
    return Studied(
        arms, rows, int(count.replace(",", "")), ("domain_task" if "domain_task" in arms else "domain", "general")
    )


def studied(name: str) -> Studied:
    task, _, base = name.partition(", ")
    if task in ("section", "mention") and own_run():
        pytest.skip("metrics/comparison.json is not the demonstration's")
    if task in ("section", "mention") or base == "MiniLM":
        return recorded(RECORDS[task], task)
    return older(STUDIES.get(task, "biomedical"), task)


def spread_of(of: Studied) -> Spread:
    seeds = sorted(set.intersection(*({*scores} for runs in of.arms.values() for scores in runs.values())))
    arms = {
        arm: np.array([[scores[seed] for seed in seeds] for scores in runs.values()]) for arm, runs in of.arms.items()
    }
    return Spread(arms, {arm for arm, runs in of.arms.items() if [*runs] == [MADE_ONCE]}, seeds)


def measured(of: Studied) -> SetSpread:
    """By the product's own components; replicates as a mean over the arms that have some."""
    spread = spread_of(of)
    parts = Components.of(spread, *of.recipe)
    names = [*of.recipe, *spread.beside(*of.recipe)]
    replicate = np.mean([own for name, own in zip(names, parts.replicate, strict=True) if spread.replicates(name)])
    deviations = [round(100 * math.sqrt(float(each)), 2) for each in (replicate, parts.rest, parts.pair, parts.others)]
    return SetSpread._make([*deviations, round(100 * math.sqrt(of.of_rows * of.test_rows), 1)])


@pytest.mark.parametrize("name", EVERY)
def test_each_row_is_what_the_committed_runs_give(name: str) -> None:
    assert [*EVERY[name]] == pytest.approx([*measured(studied(name))], abs=0.011)


@pytest.mark.parametrize("name", EVERY)
def test_the_table_foretells_what_the_study_of_the_set_could_show(name: str) -> None:
    """The table has one spread of replicates for all arms."""
    of = studied(name)
    spread, rows = spread_of(of), (of.of_rows, of.test_rows - 1.0)
    could = known(Power(Components.of(spread, *of.recipe), spread.layout(*of.recipe), rows, 0.05).detectable)
    foretold = known(EVERY[name].power(spread.layout(*of.recipe), of.test_rows, 0.05).detectable)
    assert foretold == pytest.approx(could, rel=0.25)


def test_more_of_everything_shows_less_and_rows_are_a_limit() -> None:
    of = studied("section, random weights")
    layout = spread_of(of).layout(*of.recipe)
    few, many = (known(EVERY["section, random weights"].power(layout, rows, 0.05).detectable) for rows in (100, 10_000))
    assert few > many
    alone = SetSpread(0, 0, 0, 0, 15.4).power(layout, 100, 0.05)
    assert 1.9 < 100 * known(alone.detectable) / (15.4 / 10) < 3.0, "about 1.98 + .84 standard errors"


def test_what_new_calls_a_large_difference_is_larger_than_two_in_three_of_the_gains_that_were_seen() -> None:
    def gain(of: Studied) -> float:
        arm, other = ([score for scores in of.arms[name].values() for score in scores.values()] for name in of.recipe)
        return sum(arm) / len(arm) - sum(other) / len(other)

    gains = [gain(studied(name)) for name in EVERY]
    assert (sum(each < LARGE for each in gains), len(gains)) == (6, 9)
    assert max(gains) < 2 * LARGE
