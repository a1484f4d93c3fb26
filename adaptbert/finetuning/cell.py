"""One cell of the comparison: a task fine-tuned from the rung of an arm, once a seed; the test set is opened last."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.base.files import atomic_write, file_digest, write_json
from adaptbert.finetuning import class_weights
from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.extra_runs import COSTS, Extra, choose, cost
from adaptbert.finetuning.search import Point
from adaptbert.model.precision import settle
from adaptbert.runtime.tracking.run import Run

if TYPE_CHECKING:
    from adaptbert.finetuning.heldout_rows import HeldOutRows, Measured
    from adaptbert.finetuning.seed_run import Trained
    from adaptbert.finetuning.tasks.shapes import Shape
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.training.resume import Work
    from adaptbert.training.savepoints import Savepoints


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
    # All code is known when the run is named.
    from adaptbert.errors import BadData, BadParams, Diverged
    from adaptbert.finetuning.heldout_rows import HeldOutRows, Measured
    from adaptbert.finetuning.metrics.contract import contract
    from adaptbert.finetuning.seed_run import flop_of, one_seed
    from adaptbert.finetuning.tasks.shapes import mismatch, shape_of
    from adaptbert.model import checkpoint
    from adaptbert.model.architecture import parameters
    from adaptbert.model.card import CARD
    from adaptbert.rows import labelled_set as labelled
    from adaptbert.training import distributed as ranks

    about = labelled.description(places.data)
    if wrong := mismatch(params, about["shape"], about["target"], params.max_length):
        raise BadParams(111, f"params.yaml: finetune.{task}", *wrong)
    shape = shape_of(about, params.options())
    _check_encoder(params, shape, start, task)
    if params.class_weights is not None and (
        problem := class_weights.problem(params.class_weights, about["target"], shape.classes)
    ):
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, "give `balanced`, or each label its weight")
    if params.r_drop is not None and about["target"] == "number":
        problem = "r_drop and target 'number': it compares probabilities, a number has none"
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, "remove r_drop, or take adversarial")
    train = labelled.subset(labelled.split(places.data, "train"), params.labels)
    if params.label_counts is not None and params.label_counts[-1] >= len(train):
        problem = f"label_counts {params.label_counts}, but there are {len(train)} labels, which are trained on anyway"
        raise BadParams(111, f"params.yaml: finetune.{task}.label_counts", problem, "give fewer")
    limit = start.config().max_position_embeddings
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {start.name}"
        raise BadData(111, f"params.yaml: finetune.{task}", problem, f"lower max_length to {limit}")

    digests = {path.name: file_digest(path) for path in sorted(places.data.iterdir())}

    def key(precision: str) -> dict[str, Any]:
        return {
            "params": {**params.model_dump(exclude={"seeds"}), "precision": precision},
            "task": about,
            "devices": ranks.count(params.global_batch_size // params.micro_batch_size),
            "data": digests,
            "init": [start.digest, start.tokenizer.fingerprint],
        }

    precision = settle(f"finetune.{task}.precision", params.precision, lambda name: work.is_begun(key(name)))
    params = params.model_copy(update={"precision": precision})
    work.begin(key(precision))
    run.go_on(work.run)
    run.set_tags({"init": start.digest, "rung": start.name, "precision": precision})
    run.log_input(f"tasks/{task}", labelled.digest(train), "training")
    examples = shape.examples(train, start.tokenizer, params.max_length)
    targets = shape.targets(train, examples)
    examples = examples.labelled(targets)
    plain, shape = shape, _weighing(params, about, shape, targets)
    held_out = HeldOutRows(places.data, lambda rows: shape.examples(rows, start.tokenizer, params.max_length))
    run.log_metrics({"train/cut_share": examples.cut / len(train)}, step=0)
    print(f"{task}-{arm}: {len(train):,} labels, {len(params.seeds)} seeds, from {start.source}")
    lost = _lost(shape, run, train=Measured(train, examples))

    extra = Extra(f"{task}-{arm}", {"task": task, "arm": arm}, work, run)
    more: dict[str, Any] = {}
    if params.search is not None:
        usual = Point(params.optim.learning_rate, params.global_batch_size, params.epochs)

        def trial(point: Point, seed: int, savepoints: "Savepoints", child: Run) -> dict[str, Any]:
            try:
                done = one_seed(start, params.at(point), shape, examples, held_out, seed, savepoints, child, test=False)
            except Diverged as error:
                child.set_tags({"diverged": str(error)})
                return {f"dev/{shape.metric}": None, **_price(error.trained, start.config(), params, shape)}
            return {**_scores(done), **_cost(done, params, shape)}

        point, more["search"] = choose(params.search, usual, f"dev/{shape.metric}", trial, extra)
        params = params.at(point)
        run.set_tags({"chosen": json.dumps(asdict(point))})

    seeds: list[dict[str, Any]] = []
    predictions: list[Any] = []
    best: tuple[float, Trained] | None = None
    for seed in params.seeds:
        with run.child(f"seed {seed} {arm} {task}", {"task": task, "arm": arm, "seed": str(seed)}) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            trained = one_seed(start, params, shape, examples, held_out, seed, savepoints, child)
        seeds.append(trained.metrics)
        predictions.append(trained.predictions)
        dev = trained.metrics[f"dev/{shape.metric}"]
        if best is None or dev > best[0]:
            best = (dev, trained)
    assert best is not None
    model, counts = best[1].model, best[1].counts
    tokens = counts["tokens"]

    if params.label_counts is not None:
        more["learning_curve"] = [
            _on_fewer(start, params, about, plain, train, labels, held_out, extra) for labels in params.label_counts
        ]
    lost |= _lost(shape, run, dev=held_out.dev, test=held_out.test)
    spent = [_cost(best[1], params, shape)] * len(seeds) + _spent(more)

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
        "tflop": round(flop_of(params, shape, model.config, counts) / 1e12, 3),
        "parameters": parameters(model),
        "contract": contract(about, best[1].ids),
        **({"lost": lost} if lost["train"] else {}),
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
    _write_predictions(places.predictions, predictions)
    write_json(places.metrics, {**facts, **({"cost": cost(spent)} if more else {}), "seeds": seeds, **more})
    work.finish(places.metrics)

    test = f"test/{shape.metric}"
    run.log_metrics({**_means(seeds), **{f"cost/{name}": value for name, value in cost(spent).items()}})
    run.set_tags({"checkpoint": str(saved["weights"])})
    for path in (places.metrics, places.predictions, places.out / CARD):
        run.log_artifact(path)
    print(f"  {test}: " + ", ".join(f"{seed[test]:.3f}" for seed in seeds))


def _check_encoder(params: CellConfig, shape: "Shape", start: "Checkpoint", task: str) -> None:
    """Refuse layers that the encoder does not have."""
    from adaptbert.errors import BadParams

    layers = start.config().num_hidden_layers
    problem = shape.reading.problem(layers)
    if params.freeze is not None and params.freeze.layers != "all" and params.freeze.layers > layers:
        problem = f"freeze.layers {params.freeze.layers}, but the encoder has {layers}"
    if problem:
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, "give fewer layers, or `all`")


def _weighing(params: CellConfig, about: dict[str, Any], plain: "Shape", targets: Any) -> "Shape":
    """The shape that is trained: with class weights, those of the rows that it is trained on."""
    from adaptbert.finetuning.tasks.shapes import shape_of

    if params.class_weights is None:
        return plain
    each = class_weights.weights(params.class_weights, about["target"], plain.classes, targets)
    told = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(plain.classes, each, strict=True))
    print(f"  class weights: {told}")
    return shape_of({**about, "class_weights": each}, params.options())


def _lost(shape: "Shape", run: Run, **splits: "Measured") -> dict[str, dict[str, int]]:
    """Of each split the rows whose right answer cannot be found, by reason: they bound every score."""
    found = {name: shape.lost(*split) for name, split in splits.items()}
    for name, reasons in found.items():
        run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            told = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {told} of {len(splits[name].rows):,} rows")
    return found


def _on_fewer(
    start: "Checkpoint",
    params: CellConfig,
    about: dict[str, Any],
    plain: "Shape",
    train: list[dict[str, Any]],
    labels: int,
    held_out: "HeldOutRows",
    extra: Extra,
) -> dict[str, Any]:
    """A point of the learning curve: all seeds on the first labels of the subset, scored on dev and test."""
    from adaptbert.finetuning.seed_run import one_seed
    from adaptbert.rows import labelled_set as labelled

    rows = labelled.subset(train, labels)
    examples = plain.examples(rows, start.tokenizer, params.max_length)
    targets = plain.targets(rows, examples)
    examples, shape = examples.labelled(targets), _weighing(params, about, plain, targets)

    def one(seed: int, savepoints: "Savepoints", child: Run) -> dict[str, Any]:
        done = one_seed(start, params, shape, examples, held_out, seed, savepoints, child)
        return {**_scores(done), "degenerate": done.metrics["degenerate"], **_cost(done, params, shape)}

    found = [
        extra.once(f"{labels} labels", seed, {"labels": labels}, lambda *where, seed=seed: one(seed, *where))
        for seed in params.seeds
    ]
    seeds = [{name: value for name, value in run.items() if name not in COSTS} for run in found]
    return {"labels": labels, **cost(found), "seeds": seeds}


def _scores(done: "Trained") -> dict[str, Any]:
    return {name: done.metrics[name] for name in done.metrics if name == "seed" or name.startswith(("dev/", "test/"))}


def _cost(done: "Trained", params: CellConfig, shape: "Shape") -> dict[str, Any]:
    return _price(done.counts, done.model.config, params, shape)


def _price(counts: Mapping[str, int], config: Any, params: CellConfig, shape: "Shape") -> dict[str, Any]:
    from adaptbert.finetuning.seed_run import flop_of

    return {"tokens": counts["tokens"], "tflop": round(flop_of(params, shape, config, counts) / 1e12, 3)}


def _spent(more: dict[str, Any]) -> list[dict[str, Any]]:
    """On the search and on fewer labels."""
    return [*([more["search"]] if "search" in more else []), *more.get("learning_curve", [])]


def _write_predictions(target: Path, seeds: list[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with atomic_write(target) as path:
        pq.write_table(pa.concat_tables(seeds), path)


def _means(seeds: list[dict[str, Any]]) -> dict[str, float]:
    names = [name for name in seeds[0] if name.startswith(("test/", "dev/"))]
    return {name: sum(seed[name] for seed in seeds) / len(seeds) for name in names}
