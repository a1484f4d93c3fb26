"""Learning rates follow the width of a base with weights, batches the length of its text."""

import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import Base
from adaptbert.planning import fitting
from adaptbert.planning.rules import notices
from adaptbert.planning.workload import Amounts
from adaptbert.project.new_project import SMALLER
from tests.support.checked_files import words
from tests.support.known import known


def of_width(width: int) -> Base:
    """A base in a folder, as far as its config.json."""
    folder = Path(f"models/init/w{width}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"hidden_size": width}))
    return Base(checkpoint=str(folder))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("width", "rates"),
    [
        (768, [None, None, None]),
        (1024, [None, None, None]),  # by a factor of 1.3
        (512, [None, None, None]),
        (312, [1e-4, 2e-4, 2e-4]),
        (128, [3e-4, 6e-4, 1e-3]),
        (2048, [2e-5, 4e-5, 1e-5]),
    ],
)
def test_rates_follow_the_width(width: int, rates: list[float | None]) -> None:
    assert [fitting.of_base(of_width(width))[section].get("learning_rate") for section in fitting.FITTED] == rates


MODERN = {"model_type": "modernbert", "attention_dropout": 0.0, "mlp_dropout": 0.0, "classifier_dropout": 0.1}
MASKING = {"masking": {"probability": 0.3}}


@pytest.mark.parametrize(
    ("config", "of_steps", "dropout", "rate"),
    [
        ({"hidden_size": 768, **MODERN}, MASKING, {"dropout": 0.0}, 8e-5),
        ({"hidden_size": 1792, **MODERN}, MASKING, {"dropout": 0.0}, 3e-5),
        ({"hidden_size": 256, **MODERN}, MASKING, {"dropout": 0.0}, 3e-4),
        ({"hidden_size": 768, "model_type": "eurobert", "attention_dropout": 0.0}, {}, {"dropout": 0.0}, 3e-5),
        ({"hidden_size": 768, "model_type": "roberta", "hidden_dropout_prob": 0.1}, {}, {}, 3e-5),
        ({"dim": 256, "model_type": "distilbert", "dropout": 0.1, "attention_dropout": 0.0}, {}, {}, 3e-4),
    ],
)
def test_values_of_the_kind_of_a_base(
    config: dict[str, Any], of_steps: dict[str, Any], dropout: dict[str, float], rate: float
) -> None:
    base = of_width(768)
    Path(str(base.checkpoint), "config.json").write_text(json.dumps(config))
    assert fitting.usual_rate("finetune", base) == rate
    fitted = fitting.of_base(base)
    assert fitted["pretrain"] == of_steps | dropout
    for section in fitting.FITTED:
        fitted[section].pop("learning_rate", None)
        assert fitted[section] == (dropout if section == "finetune" else of_steps | dropout)


def test_where_the_width_is_not_known() -> None:
    assert fitting.width(Base(checkpoint="acme/not-here")) is None
    assert fitting.width(Base(checkpoint="models/init/not_here")) is None
    assert {*map(len, fitting.of_base(Base(checkpoint="acme/not-here")).values())} == {0}


def recipe(documents: int, weights: str = "models/init/w128") -> Recipe:
    """A text of about 9 tokens a document."""
    some = [words(number) for number in range(100)]
    Path("text.txt").write_text("\n".join(some * (documents // 100) or some[:documents]))
    rows = [json.dumps({"text": words(number), "label": "ab"[number % 2]}) for number in range(40)]
    Path("rows.jsonl").write_text("\n".join(rows))
    files = dict.fromkeys(("train", "dev", "test"), "rows.jsonl")
    task = {"type": "text-classification", **files, "split": {"dev": 0.25, "test": 0.25}}
    return Recipe({"base": weights, "corpora": {"domain": {"path": "text.txt"}}, "tasks": {"t": task}})


@pytest.mark.parametrize(
    ("documents", "batch"),
    [
        (100, {"global_batch_tokens": 1024}),
        (80_000, {"global_batch_tokens": 2048}),  # 0.8 million tokens, not read whole
        (400_000, {"global_batch_tokens": 16_384}),
        (800_000, {}),
    ],
)
def test_batches_follow_the_text(documents: int, batch: dict[str, int]) -> None:
    base = of_width(128)
    amounts = Amounts(recipe(documents))
    texts = {"domain_transfer": amounts.corpus("domain", "w128"), "task_transfer": amounts.task("t", "w128")}
    written = fitting.values({step: known(each).tokens for step, each in texts.items()}, base)
    assert written["domain_transfer"] == {"learning_rate": 3e-4, **batch}
    assert written["task_transfer"]["global_batch_tokens"] == 1024, "fifty passes over twenty rows"


def test_random_weights_have_defaults_of_their_own() -> None:
    narrow, wide = (fitting.values({}, SMALLER.model_copy(update={"hidden_size": width})) for width in (128, 256))
    assert narrow == wide | {"finetune": {"learning_rate": 1e-3}}
    assert wide == {
        "pretrain": {"tokens": 6_000_000}, "domain_transfer": {}, "task_transfer": {}, "finetune": {},
    }  # fmt: skip


def test_a_rate_is_too_high_for_its_width() -> None:
    """0.0005 is a rate of random weights for 768, and none for 128."""
    of_width(128)
    wide = of_width(768)

    def said(base: str, rate: float) -> list[str]:
        written = recipe(1, base).written | {"finetune": {"learning_rate": rate}, "domain_transfer": {"passes": 1.0}}
        return [line for line in notices(Recipe(written)) if "would forget" in line]

    assert said("models/init/w128", 5e-3) == []
    assert said("models/init/w128", 0.02)[0].endswith("would forget what it has learned; usual: 0.001")
    assert said(str(wide.checkpoint), 5e-4)[0].endswith("would forget what it has learned; usual: 3e-05")
