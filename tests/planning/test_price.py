"""`adaptbert plan --price`: arithmetic on speeds that are given here, and one real measurement."""

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.model.checkpoint import random_weights
from adaptbert.model.flops import training_flop
from adaptbert.planning import price
from adaptbert.planning.price import Price, Speeds, about, measured, minutes, prices
from adaptbert.planning.workload import Amounts, Training, trainings
from adaptbert.runtime import libraries
from tests.support import demonstration
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.known import known
from tests.support.project import write_graph, write_params

ARMS = ("general", "general_long", "domain", "domain_task")
SECTIONS = ("pretrain", "domain_transfer", "task_transfer", "finetune")
GRAPH = "vars: [plan.json]\nstages:" + "".join(
    f"""
  {stage}:
    foreach: ${{plan.{stage}}}
    do:
      cmd: echo {{}} > metrics/{stage}/${{key}}.json
      params: [{stage}]
      deps: {"[]" if stage == "pretrain" else '["metrics/${item.from}.json"]'}
      outs: ["metrics/{stage}/${{key}}.json"]"""
    for stage in SECTIONS
)
"""A checkpoint is its metrics here."""


def document(**changes: Any) -> dict[str, Any]:
    """The preset `smoke` with other arms, in one precision."""
    smoke = params.read(ROOT / "presets/smoke.yaml") | {"arms": list(ARMS)}
    smoke["compare"]["replicates"] = 2
    return smoke | {section: smoke[section] | {"precision": "32-true"} for section in SECTIONS} | changes


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the demonstration, as after `new`: nothing is collected, validated or tokenised."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc"))
    (tmp_path / "data").mkdir()
    demonstration.copy(tmp_path, most=50)
    monkeypatch.chdir(tmp_path)


def planned(recipe: Recipe) -> list[Training]:
    return trainings(recipe, plan_file.expand(recipe), Amounts(recipe))


def stages(every: Sequence[Training]) -> set[str]:
    return {stage for each in every for stage in each.stages}


def of_speed(recipe: Recipe, masked: float, labelled: float, start: float = 0.0, jobs: int = 1) -> Speeds:
    configs = {"small": random_weights(recipe.bases["small"], 1000, 0)}
    return Speeds(configs, {("small", False): masked, ("small", True): labelled}, start, jobs)


def test_each_step_that_is_due_with_its_replicates_and_seeds() -> None:
    recipe = Recipe(document())
    every, speeds = planned(recipe), of_speed(recipe, 1000, 500)
    priced = {(each.step, each.text): each for each in prices(every, stages(every), speeds)}
    assert {key: each.trainings for key, each in priced.items()} == {
        ("pretrain", "general"): 1,
        ("domain_transfer", "general"): 2,
        ("domain_transfer", "domain"): 2,
        **{("task_transfer", task): 2 for task in ("section", "mention")},
        **{("finetune", task): 2 * 7 for task in ("section", "mention")},  # one cell of general, two of three others
    }
    domain, section = priced["domain_transfer", "domain"], priced["finetune", "section"]
    assert (domain.tokens, domain.minutes) == (2 * 40_000, 80 / 60)
    config = speeds.configs["small"]
    assert domain.tflop == training_flop(config, 80_000, 64, 12_000, 12_000) / 1e12
    one = section.tokens / 14
    amount = Amounts(recipe).task("section", "small")
    assert amount is not None
    assert one == pytest.approx(2 * 100 * amount.tokens / amount.rows), "two epochs of a hundred rows"
    evaluated = 2 * amount.dev + amount.test
    assert min(amount.dev, amount.test) > 0
    assert section.minutes == pytest.approx((section.tokens + 14 * evaluated / 3) / 500 / 60), "dev after each epoch"

    due = stages(every) - {f"domain_transfer@domain-small-{replicate}" for replicate in (1, 2)}
    due -= {"finetune@section-general-small", "finetune@section-domain-small-1"}
    rest = {(each.step, each.text): each for each in prices(every, due, speeds)}
    assert priced.keys() - rest.keys() == {("domain_transfer", "domain")}
    assert rest["finetune", "section"].tflop == pytest.approx(section.tflop * 5 / 7, rel=1e-4)
    assert prices(every, set(), speeds) == prices([], set(), speeds) == []


def test_the_control_has_the_tokens_of_the_domain() -> None:
    """Where budgets are passes; the texts are not equally long."""
    every = planned(Recipe(document(domain_transfer={"passes": 2})))
    by_text = {each.text: each for each in every if each.step == "domain_transfer"}
    domain, control = by_text["domain"], by_text["general"]
    assert control.tokens == domain.tokens is not None
    assert domain.amount is not None
    assert control.amount is not None
    assert control.amount.tokens != domain.amount.tokens


def test_search_and_learning_curves_have_a_price() -> None:
    search = {"trials": 3, "seeds": 2, "learning_rate": [1e-5, 1e-4]}
    recipe = Recipe(document(finetune={"seeds": 2, "label_counts": [5, 10], "labels": 20, "search": search}))
    every = planned(recipe)
    (one,) = (each for each in every if (each.step, each.text) == ("finetune", "section"))
    priced = {
        each.text: each for each in prices(every, stages(every), of_speed(recipe, 1, 1)) if each.step == "finetune"
    }
    assert priced["section"].trainings == 8 * (2 * 3 + 6), (
        "the arm of a checkpoint that is trained once searches twice, too"
    )
    assert one.tokens is not None
    assert priced["section"].tokens == pytest.approx(8 * one.tokens * (2 * (1 + 5 / 20 + 10 / 20) + 6))


def test_the_recipe_takes_starts_and_stages_side_by_side() -> None:
    """Stages of a kind share the jobs, one alone does not; the rest takes its start, and texts their time."""
    recipe = Recipe(document())
    priced = [
        Price("pretrain", "general", "small", 1, 0, 0, 5.0),
        Price("domain_transfer", "domain", "small", 2, 0, 0, 4.0),
        Price("finetune", "section", "small", 6, 0, 0, 2.0),
    ]
    due = ["validate", "pretrain@small", *(f"domain_transfer@{n}" for n in "ab"), *(f"finetune@{n}" for n in "abcd")]
    assert minutes([], priced, due, of_speed(recipe, 1, 1, start=60, jobs=2)) == 1 + (5 + 1) + (4 + 2) / 2 + (2 + 4) / 2
    assert minutes([], priced, due, of_speed(recipe, 1, 1, start=60, jobs=1)) == 1 + 6 + 6 + 6
    assert minutes([], [], [], of_speed(recipe, 1, 1)) == 0
    every, amounts = planned(recipe), Amounts(recipe)
    texts = [amounts.corpus(name, "small") for name in ("general", "domain")]
    texts += [amounts.task(name, "small") for name in ("section", "mention")]
    million = sum(known(each).tokens for each in texts) / 1e6
    speeds = of_speed(recipe, 1, 1, start=60)
    assert minutes(every, [], ["tokenize@small"], speeds) == pytest.approx(1 + million)
    assert minutes(every, [], ["compare"], speeds) == 1
    assert [about(each, speeds) for each in (0.4, 14.6, 300)] == [
        f"{time} by `make recipe`, where nothing else runs"
        for time in ("less than a minute", "about 15 minutes", "about 5.0 hours")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("busy", "slower", "beside"),
    [
        (1.64, 3.4, "about 51 minutes by `make recipe` while other processes use 1.6 cores, as now; "),
        (1.64, 8.0, "about 2.0 hours by `make recipe` while other processes use 1.6 cores, as now; "),
        (30.0, 1.1, None),
        (0.2, 2.0, None),
    ],
)
def test_the_price_names_the_load_where_it_is_felt(busy: float, slower: float, beside: str | None) -> None:
    """Other cores may be busy, and a step may wait for itself."""
    alone = "about 15 minutes by `make recipe`, where nothing else runs"
    shown = about(15, Speeds({}, {}, 0, 1, busy, slower))
    assert shown == (f"{beside}about 15 minutes where nothing else runs" if beside else alone)


def test_the_load_is_what_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """In ten seconds all cores worked for sixteen, of which nine were those of this process and its neighbour."""
    recipe = Recipe(document())
    spent = iter([(100.0, 50.0, 7.0), (110.0, 66.0, 16.0)])
    monkeypatch.setattr(price, "_spent", lambda: next(spent))
    monkeypatch.setattr(price, "_neighbours", lambda _: nullcontext())
    monkeypatch.setattr(price, "_tokens_per_second", lambda *_: (1000.0, 2.5))
    assert measured(recipe, planned(recipe), 0.2)[-2:] == (pytest.approx(0.7), 2.5)


@pytest.mark.parametrize(("arms", "kinds"), [(["general"], {True}), (ARMS, {True, False})])
def test_the_speed_of_each_kind_that_is_trained(arms: Sequence[str], kinds: set[bool]) -> None:
    """Really measured, for a moment: neither text nor weights are there."""
    recipe = Recipe(document(arms=list(arms), pretrain={"tokens": 0}))
    speeds = measured(recipe, planned(recipe), 0.2)
    assert speeds.tokens.keys() == {("small", is_labelled) for is_labelled in kinds}
    assert all(each > 0 for each in (*speeds.tokens.values(), speeds.start))


@pytest.mark.parametrize("busy", [1, 10])
@pytest.mark.parametrize(("seconds", "sizes"), [(30.0, [512] * 6), (0.25, [512, 512, *[2048] * 6])])
def test_the_speed_is_that_of_a_free_machine(
    busy: int, seconds: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much longer a step takes beside others, which is measured, and what the first one of a size costs; three
    at least count.

    Args:
        seconds: of the processor, for 512 tokens.
    """
    spent, steps = [0.0], list[int]()
    monkeypatch.setattr(price.time, "process_time", lambda: spent[0])
    monkeypatch.setattr(price.time, "perf_counter", lambda: busy * spent[0])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)

    def step(tokens: int) -> int:
        spent[0] += seconds * tokens / 512 * (1 if tokens in steps else 5)
        steps.append(tokens)
        return tokens

    assert price._tokens_per_second(step, 16_384, 5) == pytest.approx((512 / seconds, busy))
    assert steps == sizes


def test_the_table_ends_with_sums_and_no_name_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is collected. It is measured with the threads of a stage, where the user names none: with those
    of a command that runs alone, prices were up to eight times too high."""
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    write_params(tmp_path, document())
    write_graph(GRAPH)
    seen = list[str]()

    def fake(recipe: Recipe, *_: object) -> Speeds:
        seen.append(os.environ["OMP_NUM_THREADS"])
        return of_speed(recipe, 1000, 500, jobs=2)

    monkeypatch.setattr(price, "measured", fake)
    monkeypatch.setattr(libraries, "cores", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    monkeypatch.setenv("COLUMNS", "40")
    done = run("plan", "--price")
    assert (done.exit_code, seen) == (0, ["4"]), done.output
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.output.splitlines()]
    (header,) = [place for place, line in enumerate(lines) if "trainings" in line]
    assert lines[header] == ["step", "text or task", "base", "trainings", "tokens", "TFLOP", "minutes"]
    (everything,) = [line for line in lines if line[0] == "all"]
    rows = [line for line in lines[header + 2 :] if len(line) == 7]
    assert len(rows) == 7
    assert int(everything[1]) == sum(int(row[3]) for row in rows)
    together = (
        r"^with the texts and the start of \d+ stages, 2 side by side: .* by `make recipe`, where nothing else runs$"
    )
    assert re.search(together, done.output, re.MULTILINE)
    assert done.output.index("is measured, for some 20 seconds") < done.output.index("trainings")


def test_a_base_that_is_not_there(tmp_path: Path) -> None:
    recipe = Recipe(document(bases={"small": "models/init/small"}))
    with pytest.raises(Exception, match="AB-128 models/init/small: no such folder"):
        measured(recipe, planned(recipe), 0.2)
