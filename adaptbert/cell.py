"""One cell of the comparison: a task fine-tuned from the rung of an arm, once a seed; the test set is opened last."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from adaptbert.optim import OptimConfig
from adaptbert.outputs import file_digest, whole, write_json
from adaptbert.params import contradiction
from adaptbert.search import Point, SearchConfig
from adaptbert.stream import BudgetConfig
from adaptbert.tasks.shapes import ShapeConfig
from adaptbert.tracking import Run
from adaptbert.trials import COSTS, Extra, choose, cost

if TYPE_CHECKING:
    from adaptbert.checkpoint import Checkpoint
    from adaptbert.savepoints import Savepoints
    from adaptbert.tasks.examples import Examples
    from adaptbert.tasks.shapes import Shape
    from adaptbert.work import Work

TUNED = "tuned/"  # what the names of values chosen on dev begin with on a curve
Seed = Annotated[int, Field(ge=0, lt=2**64)]


class CellConfig(ShapeConfig):
    """What every cell of a task is fine-tuned with, whatever its arm."""

    seeds: list[Seed]
    """One run each: of the head, the order of the examples and dropout (and, from scratch, of all weights)."""
    labels: Annotated[int, Field(ge=0)]
    """Rows of the training split that are used; 0 = all."""
    epochs: Annotated[float, Field(gt=0)]
    optim: OptimConfig
    global_batch_size: Annotated[int, Field(gt=0)]
    """Examples an optimizer step."""
    micro_batch_size: Annotated[int, Field(gt=0)]
    """Examples a forward pass."""
    max_length: Annotated[int, Field(ge=8)]
    """Tokens of the longest example; the options of the shape say what becomes of a longer row."""
    block_size: Annotated[int, Field(ge=8)]
    """Tokens of a packed row."""
    dropout: Annotated[float, Field(ge=0, lt=1)]
    """Of hidden states, attention and the input of the head."""
    precision: Literal["bf16-mixed", "32-true"]
    search: SearchConfig | None = None
    """Left out: the values above are trained with as they stand."""
    label_counts: list[Annotated[int, Field(gt=0)]] | None = None
    """The cell is trained on so many of its labels as well, each number a part of the next, with all seeds and as many
    epochs: a learning curve. Left out: on all of them only."""

    @model_validator(mode="after")
    def _agree(self) -> "CellConfig":
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise contradiction(f"seeds {self.seeds}: give at least one, each once")
        if self.global_batch_size % self.micro_batch_size:
            raise contradiction(
                f"global_batch_size {self.global_batch_size} is not a multiple of"
                f" micro_batch_size {self.micro_batch_size}"
            )
        if self.max_length > self.block_size:
            raise contradiction(f"max_length {self.max_length} is larger than block_size {self.block_size}")
        self.options().check_room(self.max_length)
        return self

    @model_validator(mode="after")
    def _extra_runs_agree(self) -> "CellConfig":
        for size in (self.search and self.search.global_batch_size) or []:
            if size % self.micro_batch_size:
                raise contradiction(
                    f"search.global_batch_size {size} is not a multiple of micro_batch_size {self.micro_batch_size}"
                )
        counts = self.label_counts
        if counts is not None and (not counts or counts != sorted(set(counts))):
            raise contradiction(f"label_counts {counts}: give at least one, the fewest first")
        if counts is not None and 0 < self.labels <= counts[-1]:
            raise contradiction(
                f"label_counts {counts} and labels {self.labels}: all are trained on anyway; give fewer"
            )
        return self

    def at(self, point: Point) -> Self:
        """With the values that a search tries or has chosen."""
        optim = self.optim.model_copy(update={"learning_rate": point.learning_rate})
        update = {"optim": optim, "global_batch_size": point.global_batch_size, "epochs": point.epochs}
        return self.model_copy(update=update)


@dataclass(frozen=True)
class Places:
    """Where a cell reads and writes."""

    data: Path
    out: Path
    predictions: Path
    metrics: Path


def finetune_cell(
    start: "Checkpoint", params: CellConfig, task: str, arm: str, places: Places, work: "Work", run: Run
) -> None:
    """Fine-tune all seeds, from where an earlier process stopped.

    Writes their metrics, their predictions, and the checkpoint of the seed that is best on dev.

    Raises:
        BadData: an architecture that cannot read the examples.
    """
    from adaptbert import checkpoint, finetuning, ranks, training  # noqa: F401 - all code is known when the run is named
    from adaptbert.architecture import training_flop
    from adaptbert.errors import BadData, BadParams
    from adaptbert.metric_contract import contract
    from adaptbert.tasks import labelled
    from adaptbert.tasks.shapes import mismatch, shape_of
    from adaptbert.training import parameters

    about = labelled.description(places.data)
    if problem := mismatch(params, about["shape"], about["target"]):
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, f"see shape and target of collect_task.{task}")
    shape = shape_of(about, params.options())
    train = labelled.subset(labelled.split(places.data, "train"), params.labels)
    if params.label_counts is not None and params.label_counts[-1] >= len(train):
        problem = f"label_counts {params.label_counts}, but there are {len(train)} labels, which are trained on anyway"
        raise BadParams(111, f"params.yaml: finetune.{task}.label_counts", problem, "give fewer")
    limit = start.config().max_position_embeddings
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {start.name}"
        raise BadData(111, f"params.yaml: finetune.{task}", problem, f"lower max_length to {limit}")

    work.begin(
        {
            "params": params.model_dump(exclude={"seeds"}),
            "task": about,
            "devices": ranks.count(params.global_batch_size // params.micro_batch_size),
            "data": {path.name: file_digest(path) for path in sorted(places.data.iterdir())},
            "init": [start.digest, start.tokenizer.fingerprint],
        }
    )
    run.go_on(work.run)
    run.set_tags({"init": start.digest, "rung": start.name})
    run.log_input(f"tasks/{task}", labelled.digest(train), "training")
    examples = shape.examples(train, start.tokenizer, params.max_length)
    examples = examples.labelled(shape.targets(train, examples))
    run.log_metrics({"train/cut_share": examples.cut / len(train)}, step=0)
    print(f"{task}-{arm}: {len(train):,} labels, {len(params.seeds)} seeds, from {start.source}")

    extra = Extra(f"{task}-{arm}", {"task": task, "arm": arm}, work, run)
    more: dict[str, Any] = {}
    if params.search is not None:
        usual = Point(params.optim.learning_rate, params.global_batch_size, params.epochs)

        def trial(point: Point, seed: int, savepoints: "Savepoints", child: Run) -> dict[str, Any]:
            done = _one_seed(start, params.at(point), shape, examples, places.data, seed, savepoints, child, test=False)
            return {**_scores(done), **_cost(done, params.block_size)}

        point, more["search"] = choose(params.search, usual, f"dev/{shape.metric}", trial, extra)
        params = params.at(point)
        run.set_tags({"chosen": json.dumps(asdict(point))})

    seeds: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    best: tuple[float, _Trained] | None = None
    for seed in params.seeds:
        with run.child(f"{task}-{arm} seed {seed}", {"task": task, "arm": arm, "seed": str(seed)}) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            trained = _one_seed(start, params, shape, examples, places.data, seed, savepoints, child)
        seeds.append(trained.metrics)
        rows += trained.predictions
        dev = trained.metrics[f"dev/{shape.metric}"]
        if best is None or dev > best[0]:
            best = (dev, trained)
    assert best is not None
    model, counts = best[1].model, best[1].counts
    tokens = counts["tokens"]

    if params.label_counts is not None:
        more["learning_curve"] = [
            _on_fewer(start, params, shape, train, labels, places.data, extra) for labels in params.label_counts
        ]
    spent = [_cost(best[1], params.block_size)] * len(seeds) + _spent(more)

    facts = {
        "task": task,
        "arm": arm,
        "from": start.name,
        "shape": about["shape"],
        "target": about["target"],
        "metric": shape.metric,
        "labels": len(train),
        "examples": len(examples),
        "epochs": params.epochs,
        "steps": best[1].steps,
        "tokens": tokens,
        "tflop": round(training_flop(model.config, tokens, params.block_size, counts["places"], 0) / 1e12, 3),
        "parameters": parameters(model),
        "contract": contract(about["target"], best[1].ids),
    }
    card = {
        "stage": "finetune",
        "rung": f"finetune/{task}-{arm}",
        "params": params.model_dump(exclude_none=True),
        "task": {
            "name": task,
            **{key: value for key, value in about.items() if key != "rows"},
            "options": params.options().model_dump(exclude_none=True),
            "max_length": params.max_length,
            "tuned": best[1].metrics["tuned"],
        },
        "init": start.digest,
        "texts": start.texts,
        "measured": {},
    }
    saved = checkpoint.save(places.out, model, start.tokenizer, card)
    _write_predictions(places.predictions, rows)
    write_json(places.metrics, {**facts, **({"cost": cost(spent)} if more else {}), "seeds": seeds, **more})
    work.finish(places.metrics)

    test = f"test/{shape.metric}"
    run.log_metrics({**_means(seeds), **{f"cost/{name}": value for name, value in cost(spent).items()}})
    run.set_tags({"checkpoint": str(saved["weights"])})
    for path in (places.metrics, places.predictions, places.out / checkpoint.CARD):
        run.log_artifact(path)
    print(f"  {test}: " + ", ".join(f"{seed[test]:.3f}" for seed in seeds))


@dataclass(frozen=True)
class _Trained:
    model: Any
    metrics: dict[str, Any]
    predictions: list[dict[str, Any]]
    steps: int
    counts: dict[str, int]
    ids: dict[str, list[str]]


def _one_seed(
    start: "Checkpoint",
    params: CellConfig,
    shape: "Shape",
    examples: "Examples",
    data: Path,
    seed: int,
    savepoints: "Savepoints",
    run: Run,
    *,
    test: bool = True,
) -> _Trained:
    """Train, and open the test split last; without `test` not at all."""
    from adaptbert.architecture import training_flop
    from adaptbert.finetuning import FineTuning, LabelledBatches, logits
    from adaptbert.tasks import labelled
    from adaptbert.training import Plan, fit

    tokenizer = start.tokenizer
    model = start.model(
        shape.hugging_face_class(),
        seed,
        **shape.config(),
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
        classifier_dropout=params.dropout,
    )
    steps = BudgetConfig(passes=float(params.epochs)).optimizer_steps(len(examples), params.global_batch_size)
    module = FineTuning(model, shape, params.optim, steps)
    batches = LabelledBatches(examples, seed, params.micro_batch_size, params.block_size)

    def scores(shape: "Shape", examples: "Examples") -> Any:
        return logits(model, shape, examples, params.block_size, params.precision)

    dev = labelled.split(data, "dev")
    dev_examples = shape.examples(dev, tokenizer, params.max_length)

    def measure(step: int) -> Mapping[str, float]:
        found = scores(shape, dev_examples)
        tuned = shape.tune(dev, dev_examples, found)
        answers, _ = shape.answers(dev, dev_examples, found, tuned)
        measured = shape.score(shape.gold(dev), answers)
        return {f"dev/{name}": value for name, value in measured.items()} | {
            f"{TUNED}{name}": value for name, value in tuned.items()
        }

    epoch = len(examples) / params.global_batch_size
    ends = [max(1, min(steps, round(number * epoch))) for number in range(1, int(params.epochs) + 1)]
    measured_at = dict.fromkeys([*ends, steps], measure)
    plan = Plan(
        steps,
        params.global_batch_size // params.micro_batch_size,
        params.optim.clip_norm,
        params.precision,
        seed,
        "train/loss",
    )

    def flop(counts: Mapping[str, int]) -> float:
        return training_flop(model.config, counts["tokens"], params.block_size, counts["places"], 0)

    fitted = fit(module, batches, plan, run, measured_at, savepoints, flop)

    shape = shape.settle(model)
    last = fitted.curve[-1]
    tuned = {name.removeprefix(TUNED): value for name, value in last.items() if name.startswith(TUNED)}

    if not test:
        dev_scores = {name: value for name, value in last.items() if name.startswith("dev/")}
        return _Trained(model, {"seed": seed, **dev_scores}, [], steps, fitted.counts, {})

    rows = labelled.split(data, "test")
    test_examples = shape.examples(rows, tokenizer, params.max_length)
    answers, confidence = shape.answers(rows, test_examples, scores(shape, test_examples), tuned)
    gold = shape.gold(rows)
    tested = {f"test/{name}": value for name, value in shape.score(gold, answers).items()}
    cut = {"dev/cut_share": dev_examples.cut / len(dev), "test/cut_share": test_examples.cut / len(rows)}
    run.log_metrics({**tested, **cut}, steps)
    metrics = {
        "seed": seed,
        **tested,
        **{name: value for name, value in last.items() if name.startswith("dev/")},
        "tuned": tuned,
        "degenerate": shape.is_degenerate(answers),
        "cut": examples.cut,
    }
    return _Trained(
        model,
        {**metrics, "curve": fitted.curve},
        [
            {"seed": seed, "id": row["id"], "gold": _text(right), "predicted": _text(answer), "confidence": float(sure)}
            for row, right, answer, sure in zip(rows, gold, answers, confidence, strict=True)
        ],
        steps,
        fitted.counts,
        {"dev": [row["id"] for row in dev], "test": [row["id"] for row in rows]},
    )


def _on_fewer(
    start: "Checkpoint",
    params: CellConfig,
    shape: "Shape",
    train: list[dict[str, Any]],
    labels: int,
    data: Path,
    extra: Extra,
) -> dict[str, Any]:
    """A point of the learning curve: all seeds on the first labels of the subset, scored on dev and test."""
    from adaptbert.tasks import labelled

    rows = labelled.subset(train, labels)
    examples = shape.examples(rows, start.tokenizer, params.max_length)
    examples = examples.labelled(shape.targets(rows, examples))

    def one(seed: int, savepoints: "Savepoints", child: Run) -> dict[str, Any]:
        done = _one_seed(start, params, shape, examples, data, seed, savepoints, child)
        return {**_scores(done), "degenerate": done.metrics["degenerate"], **_cost(done, params.block_size)}

    found = [
        extra.once(f"{labels} labels", seed, {"labels": labels}, lambda *where, seed=seed: one(seed, *where))
        for seed in params.seeds
    ]
    seeds = [{name: value for name, value in run.items() if name not in COSTS} for run in found]
    return {"labels": labels, **cost(found), "seeds": seeds}


def _scores(done: _Trained) -> dict[str, Any]:
    return {name: done.metrics[name] for name in done.metrics if name == "seed" or name.startswith(("dev/", "test/"))}


def _cost(done: _Trained, block_size: int) -> dict[str, Any]:
    from adaptbert.architecture import training_flop

    tokens = done.counts["tokens"]
    flop = training_flop(done.model.config, tokens, block_size, done.counts["places"], 0)
    return {"tokens": tokens, "tflop": round(flop / 1e12, 3)}


def _spent(more: dict[str, Any]) -> list[dict[str, Any]]:
    """On the search and on fewer labels."""
    return [*([more["search"]] if "search" in more else []), *more.get("learning_curve", [])]


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _write_predictions(target: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with whole(target) as path:
        pq.write_table(pa.Table.from_pylist(rows), path)


def _means(seeds: list[dict[str, Any]]) -> dict[str, float]:
    names = [name for name in seeds[0] if name.startswith(("test/", "dev/"))]
    return {name: sum(seed[name] for seed in seeds) / len(seeds) for name in names}
