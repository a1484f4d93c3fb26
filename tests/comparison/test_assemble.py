"""The comparison of a simulated recipe: every run and checkpoint, their means and costs, and what is missing."""

from collections import Counter
from pathlib import Path
from statistics import mean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.checkpoints import published, read_checkpoints
from adaptbert.comparison.records import Comparison, Search
from adaptbert.config.schema.comparison import Compare
from adaptbert.core.files import read_json, write_json
from adaptbert.core.record import Cost
from adaptbert.data.labelled_set import TEST_GROUPS, split, subset
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import Several
from adaptbert.report.tables import prices
from adaptbert.statistics.intervals import Interval, mean_interval
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from tests.support.known import answer_to, known
from tests.support.simulated import BITS, LABELS, REPLICATES_APART, Simulated, compared, difficulty, edited, simulate
from tests.support.tiny_tasks import baseline_scores

SEEDS = (1, 2, 3)


@pytest.fixture
def made(tmp_path: Path) -> Simulated:
    """A recipe of one task, one replicate and three seeds; a test may spoil it."""
    return simulate(tmp_path / "recipe", tasks=["section"])


# ---- arms


def test_a_seed_has_the_mean_of_its_replicates_and_every_run_is_kept(
    several_recipe: Simulated, several: Comparison
) -> None:
    assert [task.name for task in several.tasks] == ["section/small", "section/base", "mention/small", "mention/base"]
    for task in several.tasks:
        domain, general = known(task.arm("domain")), known(task.arm("general"))
        keys = {number: f"{task.task}-domain-{task.base}-{number}" for number in (1, 2)}
        assert (domain.planned, general.planned) == (keys, {0: f"{task.task}-general-{task.base}"})
        for number, key in keys.items():
            cell = CellMetrics.read(several_recipe.root / f"metrics/finetune/{key}.json")
            assert domain.by_replicate[number] == {seed.seed: seed.test[task.metric] for seed in cell.seeds}
        assert domain.scores == {seed: mean(domain.by_replicate[number][seed] for number in (1, 2)) for seed in SEEDS}
        assert (len(domain.runs), len(general.runs)) == (6, 3)
        assert set(known(domain.interval).sources) == {"replicates", "seeds", "rows"}
        assert set(known(general.interval).sources) == {"seeds", "rows"}, "it has no replicates"
        answer = answer_to(task, "domain_transfer")
        difference = known(answer.difference)
        assert difference.mean == pytest.approx(mean(domain.scores[seed] - general.scores[seed] for seed in SEEDS))
        assert (answer.replicates, difference.replicates) == (2, 2)


def test_documents_that_are_right_or_wrong_as_a_whole_widen_intervals(made: Simulated) -> None:
    """The rows of a document are about as hard as one another, so that an arm gets most of them right, or wrong."""
    folder, (alone,) = made.outputs.data / "section", compared(made).tasks
    by_difficulty = sorted((row["id"] for row in split(folder, "test")), key=lambda name: difficulty(name, 0))
    groups = [{"id": name, "group": f"document {place // 10}"} for place, name in enumerate(by_difficulty)]
    pq.write_table(pa.Table.from_pylist(groups), made.outputs.manifests / "tasks/section" / TEST_GROUPS)
    (together,) = compared(made).tasks
    assert (alone.test_groups, together.test_groups, together.independent_rows) == (None, 30, 30)
    for arm in together.arms:
        assert width(known(arm.interval)) > 1.8 * width(known(known(alone.arm(arm.name)).interval))
    question = answer_to(together, "domain_transfer"), answer_to(alone, "domain_transfer")
    documents, rows = (known(known(answer.difference).variance)["rows"] for answer in question)
    assert documents > 3 * rows


def width(interval: Interval) -> float:
    return known(interval.high) - known(interval.low)


def test_the_chosen_arm_is_inspected_over_all_its_runs(several: Comparison, made: Simulated) -> None:
    for task in several.tasks:
        arm, inspection = known(task.arm(task.chosen)), known(task.inspection)
        assert inspection.runs == len(arm.runs)
        by_run = zip(*(each.f1 for each in inspection.classes), strict=True)
        if task.metric == "f1_macro":
            assert [sum(f1) / len(LABELS) for f1 in by_run] == pytest.approx([run.score for run in arm.runs])
    (task,) = compared(made).tasks
    accuracy = mean(seed["test/accuracy"] for seed in read_json(made.metrics(str(task.chosen)))["seeds"])
    counts = known(known(task.inspection).confusion).counts
    total = sum(sum(row.values()) for row in counts.values())
    assert sum(counts[label][label] for label in counts) / total == pytest.approx(accuracy)
    assert known(task.arm(task.chosen)).accuracy == pytest.approx(accuracy)
    labels = Counter(row["label"] for row in split(made.outputs.data / "section", "train"))
    most = min(labels, key=lambda label: (-labels[label], label))
    assert task.most_frequent == pytest.approx(sum(counts[most].values()) / total)


def test_dev_chooses_and_rows_that_share_a_text_are_told(made: Simulated) -> None:
    with edited(made.metrics("scratch")) as metrics:
        for seed in metrics["seeds"]:
            seed["dev/f1_macro"] = 0.99
    with edited(made.root / "metrics/validate.json") as validated:
        splits = validated["tasks"]["section"]
        splits["train"]["warnings"] = {"rows_sharing_a_text_with_dev": 3, "rows_sharing_a_text_with_test": 258}
        splits["dev"]["warnings"] = {"rows_sharing_a_text_with_test": 25}
    comparison = compared(made)
    (task,) = comparison.tasks
    assert task.chosen == "scratch"
    assert {source.name: source.sharing for source in comparison.sources if source.sharing} == {"section": 258}


def test_curves_and_searches_come_from_the_metrics_of_fine_tuning(made: Simulated) -> None:
    by_labels = {50: [0.30, 0.34, 0.31], 100: [0.40, 0.41, 0.39]}
    run = {"global_batch_size": 16, "epochs": 3.0, "dev": {"f1_macro": 0.5}, "seeds": [0.5], "tokens": 1, "tflop": 0.1}
    with edited(made.metrics("domain")) as metrics:
        metrics["learning_curve"] = [
            {
                "labels": labels,
                "tokens": 1_000,
                "tflop": 0.1,
                "seeds": [
                    {"seed": seed, "test": {"f1_macro": score}, "dev": {"f1_macro": score}}
                    for seed, score in zip(SEEDS, scores, strict=True)
                ],
            }
            for labels, scores in by_labels.items()
        ]
        trials = [{"learning_rate": rate, **run} for rate in (1e-4, 2.5e-4)]
        metrics["search"] = {"trials": trials, "chosen": 2, "seeds": [7], "tokens": 12, "tflop": 4.5}
    task = compared(made).tasks[0]
    arm, other = task.arm("domain"), task.arm("scratch")
    assert arm.searches == [Search(1, 2, 2.5e-4, 16, 3.0, Cost(tokens=12, tflop=4.5))]
    expected = by_labels | {250: list(arm.scores.values())}
    assert [point.labels for point in arm.learning_curve] == list(expected), "all of them last"
    for point in arm.learning_curve:
        assert point.scores == dict(zip(SEEDS, expected[point.labels], strict=True))
        assert point.interval == mean_interval(expected[point.labels], 0.95, (0.0, 1.0))
    assert (other.learning_curve, other.searches) == ([], [])


# ---- baselines


def test_baselines_are_fitted_on_as_many_rows_as_the_arms_and_classes_that_these_do_not_show_are_counted(
    made: Simulated,
) -> None:
    folder = made.outputs.data / "section"
    described = TaskDescription(type="text-classification", labels=[])
    rows = {name: split(folder, name) for name in ("train", "dev", "test")}
    (task,) = compared(made).tasks
    assert (task.labels, task.baseline_rows, task.classes_unseen) == (250, 250, 0)
    by_seed = [
        baseline_scores(described, subset(rows["train"], 250, seed), rows["dev"], rows["test"], 1) for seed in SEEDS
    ]
    assert {name: score.mean for name, score in task.baselines.items()} == {
        name: pytest.approx(mean(scores[name]["f1_macro"] for scores in by_seed)) for name in by_seed[0]
    }
    for path in made.root.glob("metrics/finetune/*.json"):
        with edited(path) as cell:
            cell["labels"] = 2
    shown = [{row["label"] for row in subset(rows["train"], 2, seed)} for seed in SEEDS]
    assert compared(made).tasks[0].classes_unseen == round(mean(len({*LABELS} - each) for each in shown)) > 0


def test_baselines_have_intervals_and_are_compared_with_the_chosen_arm_row_by_row(repeated: Comparison) -> None:
    for task in repeated.tasks:
        chosen = known(task.arm(task.chosen))
        assert set(task.beside_baselines) == set(task.baselines)
        for name, score in task.baselines.items():
            assert "rows" in score.sources
            assert "seeds" in score.sources or name == "majority", f"{task.name}/{name}: {dict(score.sources)}"
            assert 0 <= known(score.low) < score.mean < known(score.high) <= 1
            beside = task.beside_baselines[name]
            assert beside.mean == pytest.approx(known(chosen.interval).mean - score.mean)
            assert set(known(beside.variance)) == {"replicates", "seeds", "rows"}
            assert known(beside.low) > 0, "beyond doubt better than a linear model"
            alone, of_all = (max(-1.0, beside.inside(0.025 / arms)[0]) for arms in (1, len(task.arms)))
            assert beside.low == of_all < alone, "the arm was chosen among all of them"
            assert beside.high == pytest.approx(min(1.0, beside.inside(0.025)[1]))


# ---- checkpoints, costs, sources


def test_the_replicates_of_a_checkpoint_stand_together(several: Comparison) -> None:
    checkpoints = {each.name: each for each in several.checkpoints}
    assert len(checkpoints) == 2 * len(BITS)
    domain = checkpoints["domain_transfer/domain-base"]
    assert [(each.name, each.number) for each in domain.replicates] == [(f"{domain.name}-{n}", n) for n in (1, 2)]
    assert (domain.path, domain.base, domain.below) == ("domain_transfer/domain", "base", "pretrain/base")
    bits = BITS["domain_transfer/domain"][0]
    assert [each.after["general"] for each in domain.replicates] == pytest.approx([bits, bits + REPLICATES_APART])
    assert domain.after["general"] == pytest.approx(bits + REPLICATES_APART / 2)
    assert checkpoints["task_transfer/section-domain-base"].below == "domain_transfer/domain-base"


def test_every_checkpoint_is_measured_on_every_text(comparison: Comparison) -> None:
    assert comparison.heldout == ["general", "domain", "mention", "section"]
    for _, each in comparison.trained():
        assert (each.after["general"], each.after["domain"]) == BITS[each.name][:2]
        assert each.curve[0][1] == each.before
        assert each.curve[-1] == (known(each.cost).tokens, pytest.approx(each.after))


def test_costs_are_summed_along_the_steps(several_recipe: Simulated, several: Comparison) -> None:
    tokens = {arm.name: known(arm.cost).tokens for arm in several.tasks[0].arms}
    above = {"general_long": 2_000_000, "domain": 2_000_000, "task": 250_000, "domain_task": 2_250_000}
    assert tokens == {"scratch": 0, "general": 800_000} | {arm: 800_000 + more for arm, more in above.items()}
    first = [known(each.cost) for _, each in several.trained() if each.number == 1]
    runs = len(SEEDS) * sum(entry.replicate == 1 for entry in several_recipe.plan.finetune.values())
    assert (len(first), runs) == (2 * 6, 2 * 2 * 4 * len(SEEDS))
    assert several.one_more_replicate == Cost.model_construct(
        tokens=sum(cost.tokens for cost in first) + runs * 64_000,
        tflop=pytest.approx(sum(cost.tflop for cost in first) + runs * 0.4),
    )


def test_what_each_base_costs(tmp_path: Path) -> None:
    """Fine-tuning once, as a mean; the size of its model and how its documents are computed, where that is known."""
    made = simulate(tmp_path, tasks=["section"], bases=("small", "base", "other"))
    with edited(made.root / "metrics/pretrain/base.json") as step:
        step |= {"documents": "packed by masks", "parameters": 7_000_000}
    (made.root / "metrics/pretrain/other.json").unlink()
    comparison = compared(made)
    (ranking,) = comparison.rankings
    costs = {each.base: each.cost for each in ranking.arms[ranking.arm]}
    assert costs.keys() == {"small", "base", "other"}
    expected = {"small": ("packed", 16 * 5_300_000), "base": ("packed by masks", 16 * 7_000_000)}
    for row in prices(ranking, comparison).rows:
        base, *documents_and_memory, tokens, tflop, of_run = (cell.value for cell in row)
        cost = known(costs.pop(str(base)))
        assert tuple(documents_and_memory) == expected[str(base)]
        assert (tokens, tflop, of_run) == (cost.tokens, cost.tflop, pytest.approx(0.4))
    assert costs == {"other": None}, "nothing is known of it"


def test_a_public_checkpoint_is_not_taken_for_random_weights(made: Simulated, comparison: Comparison) -> None:
    assert comparison.began_from == {}
    with edited(made.root / "metrics/pretrain/small.json") as step:
        step |= {"from": "models/init/small", "tokens": 0, "steps": 0, "curve": [], "before": step["after"]}
    public = compared(made)
    assert public.began_from == {"small": "models/init/small"}
    checkpoints = {each.name: each for each in public.checkpoints}
    assert (checkpoints["scratch"].after, checkpoints["pretrain"].below) == ({}, "models/init/small")
    assert checkpoints["pretrain"].after["general"] == 3.05
    assert published(read_checkpoints(made.plan, made.root / "metrics")) == checkpoints.keys() - {"scratch"}
    with edited(made.root / "metrics/pretrain/small.json") as step:
        step["tokens"] = 1
    assert published(read_checkpoints(made.plan, made.root / "metrics")) == set(), "general pre-training went on here"


def test_a_measurement_that_is_not_planned_is_not_read(made: Simulated) -> None:
    """The file of an arm that is gone lies there until somebody removes it: a fresh clone would say something else."""
    measures = {"bits_per_char": 1.5, "mlm_loss": 1.5, "masked_accuracy": 0.5}
    path = made.root / "metrics/measure/domain-small-1.json"
    path.parent.mkdir(exist_ok=True)
    write_json(path, {"checkpoint": "domain_transfer/domain-small-1", "texts": {"elsewhere": measures}})
    gone = made.plan.model_copy(update={"measure": {}})
    read, left = (read_checkpoints(plan, made.root / "metrics") for plan in (made.plan, gone))
    assert read["domain_transfer/domain-small-1"].first.after["elsewhere"] == 1.5
    assert "elsewhere" not in left["domain_transfer/domain-small-1"].first.after


def test_sources_are_those_that_were_validated(comparison: Comparison) -> None:
    assert [source.name for source in comparison.sources] == ["domain", "general", "section", "mention"]
    assert all(source.rows == source.kept + sum(source.rejected.values()) for source in comparison.sources)
    assert all(source.demonstration for source in comparison.sources)


# ---- what is missing


def test_what_is_missing_is_there_without_a_result(made: Simulated) -> None:
    made.metrics("domain").unlink()
    (made.root / "metrics/domain_transfer/general-small-1.json").unlink()
    comparison = compared(made)
    task = comparison.tasks[0]
    assert known(task.arm("domain")).missing
    answer = answer_to(task, "domain_transfer")
    assert (answer.verdict, answer.why, answer.difference) == ("not_tested", "missing", None)
    missing = next(each for each in comparison.checkpoints if each.name == "domain_transfer/general")
    assert (missing.missing, missing.first.total) == (True, None)
    assert known(task.arm("general_long")).cost is None
    assert comparison.one_more_replicate is None


def test_a_replicate_without_metrics_is_missing_and_the_others_count(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], replicates=2)
    whole = known(compared(made).tasks[0].arm("domain"))
    (made.root / "metrics/finetune/section-domain-small-2.json").unlink()
    (task,) = compared(made).tasks
    arm = known(task.arm("domain"))
    assert (list(arm.planned), list(arm.by_replicate)) == ([1, 2], [1])
    assert arm.scores == whole.by_replicate[1]
    for name in ("domain_text", "task_transfer"):
        answer = answer_to(task, name)
        assert (answer.verdict, answer.why, answer.replicates) == ("not_tested", "missing", 1)


def test_without_predictions_no_interval_holds_test_rows(made: Simulated) -> None:
    (made.root / "predictions/section-domain-small-1.parquet").unlink()
    (task,) = compared(made).tasks
    assert set(known(known(answer_to(task, "domain_text").difference).variance)) == {"seeds"}
    assert {arm.interval.sources for arm in task.arms if arm.interval is not None} == {("seeds",)}
    assert {score.low for score in task.baselines.values()} == {None}


def test_without_any_result_there_are_still_baselines(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], accuracy={})
    for path in [*(made.root / "metrics").glob("*_transfer/*.json"), made.root / "metrics/pretrain/small.json"]:
        path.unlink()
    (task,) = compared(made).tasks
    assert (task.chosen, task.inspection, task.labels) == (None, None, 300)
    assert "tfidf_logistic" in task.baselines


def test_the_metric_that_compares_can_be_chosen_where_a_task_has_it(tmp_path: Path) -> None:
    made = simulate(tmp_path)
    section, mention = compare_all(made.plan, made.outputs, Compare(metric="accuracy")).tasks
    assert (section.metric, mention.metric) == ("accuracy", "f1_span")
    for run in section.arm("domain").runs:
        cell = CellMetrics.read(made.root / f"metrics/finetune/section-domain-small-{run.replicate}.json")
        assert run.score == next(seed.test["accuracy"] for seed in cell.seeds if seed.seed == run.seed)
    assert known(section.arm("domain").interval).low is not None


# ---- metrics/comparison.json is the tree itself


@pytest.mark.parametrize("name", ["comparison", "repeated", "several"])
def test_a_comparison_comes_back_to_the_last_digit(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    comparison: Comparison = request.getfixturevalue(name)
    write_json(tmp_path / "first.json", comparison.as_json())
    again = Comparison.read(tmp_path / "first.json")
    assert again == comparison
    write_json(tmp_path / "second.json", again.as_json())
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()


def test_what_is_no_such_tree_is_refused_with_each_place(comparison: Comparison, tmp_path: Path) -> None:
    """Which values a record takes is in tests/core/test_record.py."""
    write_json(tmp_path / "comparison.json", comparison.as_json())
    tree = read_json(tmp_path / "comparison.json")
    del tree["min_gain"], tree["tasks"][0]["arms"][1]["runs"][0]["seed"]
    tree["woth"] = 1
    tree["tasks"][0]["labels"], tree["spent"]["tflop"], tree["tasks"][0]["answers"][0]["verdict"] = "250", None, "good"
    write_json(tmp_path / "comparison.json", tree)
    with pytest.raises(Several, match="restore the file") as error:
        Comparison.read(tmp_path / "comparison.json")
    for message in (
        "min_gain: Field required",
        "woth: Unexpected keyword argument, found 1",
        'tasks.0.labels: expected a valid integer, found "250"',
        "tasks.0.arms.1.runs.0.seed: Field required",
        "tasks.0.answers.0.verdict: expected 'gain",
        "spent.tflop: expected a valid number, found null",
    ):
        assert f"{tmp_path / 'comparison.json'}: {message}" in str(error.value)
