"""The model card in both languages: said/card.md is what it says of a simulated recipe, to be read."""

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from adaptbert.comparison.records import Comparison
from adaptbert.model.checkpoint_files import Card
from adaptbert.release.card import cards
from adaptbert.release.choice import Choice, choose
from adaptbert.release.material import Material
from adaptbert.release.record import Release
from adaptbert.statistics.intervals import Interval
from tests.support.known import known
from tests.support.snapshots import agrees

SAID = Path(__file__).parent / "said"
ZEROS = "0" * 64


def step(checkpoint: str, *texts: str) -> Card:
    seen = [{"name": name, "digest": ZEROS, "tokens": 1000, "trained_tokens": 500} for name in texts]
    return Card(
        stage=checkpoint.partition("/")[0],
        checkpoint=checkpoint,
        params={"learning_rate": 0.001, "masking": {"unit": "word"}},
        init=None,
        texts=seen,
        weights=ZEROS,
        config=ZEROS,
        tokenizer=ZEROS,
    )


def written(choice: Choice, comparison: Comparison) -> dict[str, str]:
    """The files of the card of a model."""
    is_linear = choice.folder.parts[1] == "linear"
    release = Release(
        task=choice.task.task,
        version=3,
        kind="linear" if is_linear else "encoder",
        arm=choice.name,
        base="" if is_linear else choice.task.base,
        replicate=choice.replicate,
        seed=0 if is_linear else 2,
        cell="" if is_linear else choice.folder.name,
        type=choice.task.type,
        metric=choice.task.metric,
        score=choice.score.mean,
        low=choice.score.low,
        high=choice.score.high,
        supported=choice.is_supported,
        reason=choice.reason,
        adaptbert="1.2.3",
        commit="",
        made_from={},
    )
    trained = [step("pretrain/small", "general"), step("domain_transfer/domain-small-2", "general", "domain")]
    run = choice.run(2)
    material = Material(
        answers=None,
        own_score=0.7123 if run is None else run.score,
        made_from={},
        cards=[] if is_linear else [*trained, step(f"finetune/{choice.folder.name}", "general", "domain")],
        hours=None if is_linear else 1.25,
    )
    return dict(cards(release, choice, comparison, material, {"data/own/section.train.csv": "a" * 32}))


def of_an_arm(comparison: Comparison) -> str:
    return "\n".join(written(choose(comparison, "section", None, ""), comparison).values())


def of_a_linear_model(comparison: Comparison) -> str:
    choice = choose(comparison, "section", "tfidf_logistic", "It runs on our <old> machines & costs little.")
    return "\n".join(written(choice, comparison).values())


def test_what_the_card_of_an_arm_says(repeated: Comparison) -> None:
    agrees(SAID / "card.md", of_an_arm, repeated)


def test_what_the_card_of_a_linear_model_says(repeated: Comparison) -> None:
    agrees(SAID / "linear_card.md", of_a_linear_model, repeated)


@pytest.mark.parametrize("file", ["README.md", "README.zh-CN.md"])
def test_the_hub_reads_it(repeated: Comparison, file: str) -> None:
    """Language and licence are left to the user; a public base is named."""
    began = [
        replace(each, below="google-bert/bert-base-uncased", is_public_below=True) if each.path == "pretrain" else each
        for each in repeated.checkpoints
    ]
    public = replace(repeated, checkpoints=began)
    data = ModelCard(written(choose(public, "section", None, ""), public)[file]).data.to_dict()
    expected = {"library_name": "transformers", "pipeline_tag": "text-classification", "tags": ["adaptbert"]}
    assert data == {**expected, "metrics": ["f1"], **({"base_model": public.began_from["small"]} if began else {})}
    mention = ModelCard(written(choose(public, "mention", "general", "Whatever."), public)[file]).data.to_dict()
    assert mention["pipeline_tag"] == "token-classification"


def test_without_an_interval_it_says_so(repeated: Comparison) -> None:
    choice = choose(repeated, "section", None, "")
    alone = replace(choice.model, interval=Interval(known(choice.score).mean, None, None))  # type: ignore[type-var]
    text = written(replace(choice, model=alone), repeated)["README.md"]
    assert "how far that is from the truth is not known" in text


def test_both_languages_have_the_same_numbers_and_code(repeated: Comparison) -> None:
    english, chinese = written(choose(repeated, "section", None, ""), repeated).values()
    for pattern in (r"```.*?```", r"`[^`\n]+`", r"(?<![\w.])[−+]?\d+\.\d+"):
        found = [sorted(re.findall(pattern, text, re.DOTALL)) for text in (english, chinese)]
        assert found[0] == found[1], pattern


def test_values_in_force_are_yaml(repeated: Comparison) -> None:
    text = of_an_arm(repeated)
    assert 'masking.unit: "word"' in text
    assert json.dumps({"unit": "word"}) not in text


def test_no_sentence_stands_here_and_in_the_report() -> None:
    ours, reports = (
        set(re.findall(r'^msgid "(.+)"$', files(package).joinpath("zh.po").read_text("utf-8"), re.MULTILINE))
        for package in ("adaptbert.release", "adaptbert.report")
    )
    assert len(ours) > 20
    assert ours & reports == set()
