"""What is saved from an encoder of any type opens in stock transformers, whole, and answers there as it does here.

Models and tokenizers are those of tests/support/encoders.py; nothing is trained, random weights tell answers apart.
"""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoTokenizer, pipeline

from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint, quiet
from adaptbert.model.checkpoint_files import TaskCard
from adaptbert.model.classes import Head
from adaptbert.model.proof import prepare
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks.heads import load_fine_tuned
from adaptbert.tasks.outputs import outputs
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny, tiny_tasks
from tests.support.checkpoint_edits import edit
from tests.support.encoders import CASES, NAMED, Case
from tests.support.family_tokenizers import family_tokenizer

RUN = [case for case in CASES if case.way != "refused"]
EXACT = 2e-5
"""Most that is allowed between two probabilities, or between two scores as a share of the largest."""
QUICK = [NAMED[name] for name in ("roberta", "modernbert, as mmBERT", "deberta-v2, as v3")]
MARKED = [pytest.param(case, marks=[pytest.mark.slow] * (case not in QUICK)) for case in RUN]
OPEN: dict[Head, str] = {
    "masked_lm": "AutoModelForMaskedLM",
    "sequence": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "spans": "AutoModelForQuestionAnswering",
}
LONGEST = 60
TUNED = {"extractive_answer": {"no_answer_threshold": 0.0}}


def saved(case: Case, shape: str, folder: Path, pieces: Tokenizer | None = None) -> None:
    """A checkpoint as fine-tuning leaves it.

    Raises:
        BadParams: transformers has no such head.
    """
    head = tiny_tasks.head_of(shape)
    model = case.model(head.head, **head.config()).eval()
    prepare(model)
    options = tiny_tasks.options(shape).model_dump(exclude_none=True)
    about = tiny_tasks.about(shape)
    task = TaskCard(name="mine", options=options, max_length=LONGEST, tuned=TUNED.get(shape, {}), **about)
    params = {"block_size": 96, "precision": "32-true"}
    card = tiny.card("finetune/mine", stage="finetune", params=params, task=task)
    checkpoint.save(folder, model, pieces or Tokenizer(case.tokenizer()), card)


def opened(folder: Path, head: Head) -> Any:
    """The stock model; nothing is missing, left over or of another shape, and nothing is named that is ours."""
    with quiet():
        model, info = getattr(transformers, OPEN[head]).from_pretrained(folder, output_loading_info=True)
    assert {kind: names for kind, names in info.items() if names} == {}
    assert not [key for key in json.loads((folder / "config.json").read_text()) if "attn_impl" in key]
    return model.eval()


def rows_of(shape: str, count: int = 12) -> list[dict[str, Any]]:
    """Rows that fit; words in capitals, punctuation, Chinese and an emoji among them."""
    return [row for row in tiny_tasks.labelled("domain", shape, 3 * count, 5) if len(str(row)) < 220][:count]


@pytest.mark.parametrize("case", MARKED, ids=str)
def test_a_checkpoint_of_masked_lm(case: Case, tmp_path: Path) -> None:
    model = case.model().eval()
    prepare(model)
    checkpoint.save(tmp_path / "saved", model, Tokenizer(case.tokenizer()), tiny.card("pretrain"))
    stock = opened(tmp_path / "saved", "masked_lm")
    weights = dict(stock.named_parameters())
    assert all(torch.equal(weight, weights[name]) for name, weight in model.named_parameters())
    assert Checkpoint.load(tmp_path / "saved").model_and_drawn("masked_lm", 0)[1] == frozenset()
    pieces = AutoTokenizer.from_pretrained(tmp_path / "saved")
    cut = pieces("the house " * 100, truncation=True, return_tensors="pt")
    assert cut["input_ids"].shape[1] == Checkpoint.load(tmp_path / "saved").longest
    stock(**cut)  # RoBERTa uses fewer rows of its positions than there are


@pytest.mark.parametrize("shape", tiny_tasks.USUAL)
@pytest.mark.parametrize("case", MARKED, ids=str)
def test_it_reads_and_scores_as_transformers_does(case: Case, shape: str, tmp_path: Path) -> None:
    """The tokenizer in the folder gives our ids and segments, and the class our scores at our places."""
    head = tiny_tasks.head_of(shape)
    if case.lacking(head.head):
        pytest.skip(f"transformers has no head `{head.head}` for {case}, or it is refused")
    saved(case, shape, tmp_path / "saved")
    stock, pieces = opened(tmp_path / "saved", head.head), AutoTokenizer.from_pretrained(tmp_path / "saved")
    ours, head = load_fine_tuned(loaded := Checkpoint.load(tmp_path / "saved"), head)
    rows = rows_of(shape)
    examples = head.examples(rows, loaded.tokenizer, LONGEST)
    assert len(examples) == len(rows), "a window each"
    scores = outputs(ours, head.logits, examples, 96, "32-true")
    places = np.split(examples.places, np.cumsum(examples.counts)[:-1])
    due = []
    for number, row in enumerate(rows):
        inputs = pieces(*texts_of(row, shape), return_tensors="pt")
        example = examples.take(np.array([number]))
        assert inputs["input_ids"][0].tolist() == example.ids.tolist()
        if example.segments is not None and "token_type_ids" in inputs:
            assert inputs["token_type_ids"][0].tolist() == example.segments.tolist()
        with torch.no_grad():
            output = stock(**inputs)
        if head.head == "spans":
            due.append(torch.stack([output.start_logits[0], output.end_logits[0]], -1)[places[number]])
        else:
            due.append(output.logits if head.head == "sequence" else output.logits[0, places[number]])
    expected = torch.cat(due).double().numpy()
    assert np.abs(scores - expected).max() <= EXACT * np.abs(expected).max()


@pytest.mark.parametrize(("kind", "changes"), [("bert", {}), ("roberta", {"type_vocab_size": 1, "pad_token_id": 0})])
def test_transformers_gives_segments_to_a_model_that_knows_them(
    kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """The general class gives none, that of BERT does, also to a RoBERTa with the vocabulary of a BERT, which fails."""
    case = Case(kind, "own", {**changes, "vocab_size": len(family_tokenizer("bert"))}, rules="bert")
    for named in ("BertTokenizer", "PreTrainedTokenizerFast"):
        folder = tmp_path / named
        case.tokenizer().save_pretrained(folder)
        edit(folder, "tokenizer_config.json", tokenizer_class=named)
        saved(case, "sentence_pair", folder / "saved", Tokenizer.load(folder))
        rows, pipe = rows_of("sentence_pair"), pipeline("text-classification", model=str(folder / "saved"), top_k=None)
        for row, answered in zip(rows, Predictor.load(folder / "saved").predict(rows, probabilities=True), strict=True):
            texts = {"text": row["text_a"], "text_pair": row["text_b"]}
            scores = {each["label"]: each["score"] for each in pipe(texts)}
            assert scores == pytest.approx(answered["probabilities"], abs=1e-4)


def texts_of(row: dict[str, Any], shape: str) -> list[str]:
    if shape == "sequence_labelling":
        return [" ".join(row["tokens"])]
    return [row[column] for column in ("text", "text_a", "text_b", "question", "context") if column in row]


@pytest.mark.parametrize("case", MARKED, ids=str)
def test_its_pipeline_answers_alike(case: Case, tmp_path: Path) -> None:
    """Probabilities of texts and pairs, and the tag of each word's first piece."""
    for shape in ("single_sentence", "sentence_pair"):
        saved(case, shape, tmp_path / shape)
        rows = rows_of(shape)
        answers = Predictor.load(tmp_path / shape).predict(rows, probabilities=True)
        with quiet():
            pipe = pipeline("text-classification", model=str(tmp_path / shape), device="cpu", top_k=None)
        for row, answered in zip(rows, answers, strict=True):
            texts = dict(zip(("text", "text_pair"), texts_of(row, shape), strict=False))
            scores = {each["label"]: each["score"] for each in pipe(texts)}
            assert scores == pytest.approx(answered["probabilities"], abs=1e-4)
    saved(case, "sequence_labelling", tmp_path / "tags")
    rows = rows_of("sequence_labelling")
    with quiet():
        pipe = pipeline("token-classification", model=str(tmp_path / "tags"), device="cpu", ignore_labels=[])
    for row, answered in zip(rows, Predictor.load(tmp_path / "tags").predict(rows, probabilities=True), strict=True):
        text = " ".join(row["tokens"])
        found = [piece for piece in pipe(text) if text[piece["start"] : piece["end"]].strip()]
        begins = accumulate((len(token) + 1 for token in row["tokens"][:-1]), initial=0)
        for begin, of_word in zip(begins, answered["probabilities"], strict=True):
            first = next(piece for piece in found if piece["end"] > begin)
            assert first["entity"] == max(of_word, key=lambda tag: of_word[tag])
            assert first["score"] == pytest.approx(max(of_word.values()), abs=1e-4)
