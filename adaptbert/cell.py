"""One cell of the comparison: a task fine-tuned from the rung of an arm, once a seed; the test set is opened last."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from adaptbert import class_weights
from adaptbert.adversarial import AdversarialConfig
from adaptbert.class_weights import ClassWeights
from adaptbert.early_stopping import EarlyStoppingConfig
from adaptbert.freezing import FreezeConfig, GradualUnfreezingConfig
from adaptbert.optim import OptimConfig
from adaptbert.outputs import file_digest, whole, write_json
from adaptbert.params import contradiction
from adaptbert.r_drop import RDropConfig
from adaptbert.stream import BudgetConfig
from adaptbert.tasks.shapes import ShapeConfig
from adaptbert.tracking import Run

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
    class_weights: ClassWeights | None = None
    """How much the loss of each label counts: `balanced`, or a weight for every label. For sentences and pairs with
    labels. Left out: all alike."""
    freeze: FreezeConfig | None = None
    """Left out: all of the encoder learns."""
    gradual_unfreezing: GradualUnfreezingConfig | None = None
    """Left out: all of it learns from the first step."""
    r_drop: RDropConfig | None = None
    """Left out: one pass a batch."""
    adversarial: AdversarialConfig | None = None
    """Left out: word embeddings stay where they are."""
    early_stopping: EarlyStoppingConfig | None = None
    """Left out: all epochs are trained, and the last weights are kept."""

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
    def _options_agree(self) -> "CellConfig":
        frozen = self.gradual_unfreezing is not None or (self.freeze is not None and self.freeze.embeddings)
        crf = self.sequence_labelling is not None and self.sequence_labelling.decoder == "crf"
        for wrong, message in (
            (self.freeze and self.gradual_unfreezing, "freeze and gradual_unfreezing: give one of them"),
            (self.r_drop and self.adversarial, "r_drop and adversarial: give one of them"),
            (self.r_drop and self.dropout == 0, "r_drop and dropout 0.0: both passes would be the same"),
            (self.r_drop and crf, "r_drop and decoder 'crf': it compares words one by one, a CRF knows rows"),
            (self.adversarial and frozen, "adversarial and frozen embeddings: no gradient says where to move them"),
            (
                self.gradual_unfreezing and self.epochs <= 1,
                f"gradual_unfreezing and epochs {self.epochs}: only the head would learn",
            ),
            (
                self.early_stopping and self.epochs <= 1,
                f"early_stopping and epochs {self.epochs}: nothing to choose from",
            ),
            (
                self.optim.layer_decay is not None and self.freeze is not None and self.freeze.is_everything,
                f"optim.layer_decay {self.optim.layer_decay} and all layers frozen: it would do nothing",
            ),
            (
                self.class_weights is not None and self.given() not in ("single_sentence", "sentence_pair"),
                f"class_weights and options of {self.given()}: only sentences and pairs have them",
            ),
        ):
            if wrong:
                raise contradiction(message)
        return self


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
    from adaptbert import architecture, checkpoint, crf, finetuning, ranks, training  # noqa: F401
    from adaptbert.errors import BadData, BadParams
    from adaptbert.metric_contract import contract
    from adaptbert.tasks import labelled
    from adaptbert.tasks.shapes import mismatch, shape_of
    from adaptbert.training import parameters

    about = labelled.description(places.data)
    if problem := mismatch(params, about["shape"], about["target"]):
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, f"see shape and target of collect_task.{task}")
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
    targets = shape.targets(train, examples)
    examples = examples.labelled(targets)
    learnt = about
    if params.class_weights is not None:
        each = class_weights.weights(params.class_weights, about["target"], shape.classes, targets)
        learnt = {**about, "class_weights": each}
        print(
            "  class weights: "
            + ", ".join(f"{name} {weight:.3g}" for name, weight in zip(shape.classes, each, strict=True))
        )
    shape = shape_of(learnt, params.options())
    run.log_metrics({"train/cut_share": examples.cut / len(train)}, step=0)
    print(f"{task}-{arm}: {len(train):,} labels, {len(params.seeds)} seeds, from {start.source}")

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
    write_json(places.metrics, {**facts, "seeds": seeds})
    work.finish(places.metrics)

    test = f"test/{shape.metric}"
    run.log_metrics({**_means(seeds), "cost/tokens": tokens * len(seeds), "cost/tflop": facts["tflop"] * len(seeds)})
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
) -> _Trained:
    from adaptbert.early_stopping import Best
    from adaptbert.finetuning import FineTuning, LabelledBatches, Thawing, logits
    from adaptbert.freezing import freeze
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
    shape = shape.extend(model)
    if params.freeze is not None:
        freeze(model, params.freeze)
    module = FineTuning(model, shape, params.optim, steps, params.r_drop or params.adversarial)
    accumulate, epoch = params.global_batch_size // params.micro_batch_size, len(examples) / params.global_batch_size
    stream = LabelledBatches(examples, seed, params.micro_batch_size, params.block_size)
    thaw, layers = params.gradual_unfreezing, model.config.num_hidden_layers
    batches = stream if thaw is None else Thawing(stream, thaw, accumulate, epoch, layers)

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

    ends = [max(1, min(steps, round(number * epoch))) for number in range(1, int(params.epochs) + 1)]
    measured_at = dict.fromkeys([*ends, steps], measure)
    plan = Plan(steps, accumulate, params.optim.clip_norm, params.precision, seed, "train/loss")
    rule = params.early_stopping
    best = None if rule is None else Best(f"dev/{shape.metric}", rule.patience)

    def flop(counts: Mapping[str, int]) -> float:
        return flop_of(params, shape, model.config, counts)

    fitted = fit(module, batches, plan, run, measured_at, savepoints, flop, best)

    shape = shape.settle(model)
    last = next(point for point in fitted.curve if point["step"] == fitted.step)
    if best is not None:
        print(
            f"  seed {seed}: kept is step {fitted.step:,}, the best on dev, of {fitted.curve[-1]['step']:,} that were"
            f" trained and {steps:,} that were planned"
        )
    tuned = {name.removeprefix(TUNED): value for name, value in last.items() if name.startswith(TUNED)}

    rows = labelled.split(data, "test")
    test_examples = shape.examples(rows, tokenizer, params.max_length)
    answers, confidence = shape.answers(rows, test_examples, scores(shape, test_examples), tuned)
    gold = shape.gold(rows)
    test = {f"test/{name}": value for name, value in shape.score(gold, answers).items()}
    cut = {"dev/cut_share": dev_examples.cut / len(dev), "test/cut_share": test_examples.cut / len(rows)}
    run.log_metrics({**test, **cut}, steps)
    metrics = {
        "seed": seed,
        **test,
        **{name: value for name, value in last.items() if name.startswith("dev/")},
        "tuned": tuned,
        "degenerate": shape.is_degenerate(answers),
        "cut": examples.cut,
        **({} if best is None else {"kept_step": fitted.step, "steps": fitted.curve[-1]["step"]}),
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


def flop_of(params: CellConfig, shape: "Shape", config: Any, counts: Mapping[str, int]) -> float:
    """Floating-point operations of a run; layers that thaw in its course are counted as if they had always learnt."""
    from adaptbert.architecture import training_flop

    below = 0 if params.freeze is None else params.freeze.below(config.num_hidden_layers)
    second = params.r_drop or params.adversarial
    needed = counts["tokens"] if shape.reading.mean else counts["places"]
    passes = 1 if second is None else second.passes
    return passes * training_flop(config, counts["tokens"], params.block_size, needed, 0, below)


def _check_encoder(params: CellConfig, shape: "Shape", start: "Checkpoint", task: str) -> None:
    """Refuse layers that the encoder does not have."""
    from adaptbert.errors import BadParams

    layers = start.config().num_hidden_layers
    problem = shape.reading.problem(layers)
    if params.freeze is not None and params.freeze.layers != "all" and params.freeze.layers > layers:
        problem = f"freeze.layers {params.freeze.layers}, but the encoder has {layers}"
    if problem:
        raise BadParams(111, f"params.yaml: finetune.{task}", problem, "give fewer layers, or `all`")


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
