"""`Predictor` and `adaptbert predict` for every shape: bit-identical to evaluation, and further output."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptbert.config.schema.task_types import TARGETS
from adaptbert.core.files import read_json, write_json
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.module import PREDICT_ROWS, PREDICT_TOKENS, passes
from tests.support import tiny_tasks
from tests.support.cells import Project
from tests.support.predicting import KINDS, LEARNT, ROWS, json_lines, model, read, rows_of, run


def assert_as_evaluated(answers: list[dict[str, Any]], project: Project, task: str) -> None:
    """Numbers have no confidence."""
    answer = TARGETS[KINDS[task][1]].answer
    for answered, row in zip(answers, project.predictions(f"{task}-general"), strict=True):
        predicted = row["predicted"] if isinstance(answered[answer], str) else json.loads(row["predicted"])
        assert (answered["id"], answered[answer]) == (row["id"], predicted)
        assert np.array_equal(answered.get("confidence", np.nan), row["confidence"], equal_nan=True)


@pytest.mark.parametrize("task", KINDS)
def test_it_answers_what_evaluation_answered(project: Project, task: str, tmp_path: Path) -> None:
    """The file of the test set through the command: equal answers, and confidences equal to the last bit."""
    out = tmp_path / "out.jsonl"
    done = run(model(project, task), project.root / "data" / task / "test.parquet", "-o", out)
    assert done.exit_code == 0, done.output
    answer, answers = TARGETS[KINDS[task][1]].answer, read(out)
    assert_as_evaluated(answers, project, task)
    assert len(answers) == ROWS[2]
    assert all(answered.keys() <= {"id", answer, "confidence", "entities"} for answered in answers)
    assert len({json.dumps(answered.get("confidence", answered[answer])) for answered in answers}) > 100, (
        "bits that could differ"
    )


def test_texts_are_changed_as_those_of_the_task_were(tmp_path: Path) -> None:
    project = Project(tmp_path, {"section": ("single_sentence", "class")}, (48, 24, 24))
    about = tmp_path / "data/section/task.json"
    write_json(about, {**read_json(about), "replace": [["@[a-z]+", "code"]]})
    project.finetune("section", "general", seeds=[1], epochs=1.0)
    predictor = Predictor.load(model(project, "section"))

    def answer(text: str) -> float:
        (answered,) = predictor.answers([{"text": text}])
        return answered["confidence"]

    assert answer("a @somebody word") == answer("a code word")
    out, source = tmp_path / "out.jsonl", json_lines(tmp_path / "in.jsonl", [{"text": "a @somebody word"}])
    assert run(model(project, "section"), source, "-o", out).exit_code == 0
    assert read(out)[0]["confidence"] == answer("a code word")
    predictor._task = predictor._task.model_copy(update={"replace": None})
    assert answer("a @somebody word") != answer("a code word")


@pytest.mark.parametrize("task", ["single_sentence_class", "sequence_labelling_spans", "extractive_answer_answer"])
def test_other_batches_answer_nearly_the_same(project: Project, task: str, tmp_path: Path) -> None:
    """Passes cut by tokens, rows in another order: probabilities within a hundred-thousandth."""
    rows = rows_of(project, task)
    usual = {answered["id"]: answered for answered in Predictor.load(model(project, task)).answers(rows)}
    other = {
        answered["id"]: answered
        for answered in Predictor.load(model(project, task), batch_tokens=500).answers(rows[::-1])
    }
    assert usual.keys() == other.keys()
    for row_id, answered in usual.items():
        assert other[row_id]["confidence"] == pytest.approx(answered["confidence"], abs=1e-5)


def test_a_pass_is_of_some_rows_and_some_tokens() -> None:
    """Long rows of many windows do not fill the memory, and a group of rows is cut alike wherever it lies."""
    rng = np.random.default_rng(0)
    windows = rng.integers(1, 9, 3 * PREDICT_ROWS)
    lengths = rng.integers(10, 500, windows.sum())
    rows = np.repeat(np.arange(len(windows)), windows)
    nowhere = np.zeros(len(rows), np.int64)
    examples = Examples(np.zeros(lengths.sum(), np.int64), lengths, nowhere, nowhere[:, None], nowhere, rows, 0)
    batches = list(passes(examples))
    assert np.concatenate(batches).tolist() == list(range(len(rows)))
    assert max(lengths[chosen].sum() for chosen in batches) < PREDICT_TOKENS + lengths.max()
    assert all(len({*rows[chosen] // PREDICT_ROWS}) == 1 for chosen in batches)
    second = np.flatnonzero(rows // PREDICT_ROWS == 1)
    alone = [second[chosen].tolist() for chosen in passes(examples.take(second))]
    assert alone == [chosen.tolist() for chosen in batches if set(chosen) <= set(second)]


# ---- probabilities, entities, offsets


def probabilities(project: Project, task: str, **options: Any) -> list[dict[str, Any]]:
    rows = rows_of(project, task)[:40]
    return list(Predictor.load(model(project, task)).answers(rows, **(options or {"probabilities": True})))


@pytest.mark.parametrize("shape", ["single_sentence", "sentence_pair"])
def test_probabilities_of_sentences(project: Project, shape: str) -> None:
    for answered in probabilities(project, f"{shape}_class"):
        assert list(answered["probabilities"]) == tiny_tasks.LABELS["class"]
        assert sum(answered["probabilities"].values()) == pytest.approx(1)
        assert (
            answered["probabilities"][answered["label"]]
            == answered["confidence"]
            == max(answered["probabilities"].values())
        )
    for answered in probabilities(project, f"{shape}_labels"):
        yes = answered["probabilities"]
        assert answered["labels"] == sorted(label for label in yes if yes[label] > 0.5)
        assert answered["confidence"] == min(max(chance, 1 - chance) for chance in yes.values())
    assert all(answered.keys() == {"id", "value"} for answered in probabilities(project, f"{shape}_number"))


def test_probabilities_of_words(project: Project) -> None:
    """All of them, or the best two."""
    task = "sequence_labelling_tags"
    for answered, fewer in zip(probabilities(project, task), probabilities(project, task, top=2), strict=True):
        words = answered["probabilities"]
        assert [max(word, key=lambda tag: word[tag]) for word in words] == answered["tags"]
        assert answered["confidence"] == min(max(word.values()) for word in words)
        for best, word in zip(fewer["probabilities"], words, strict=True):
            assert list(best.values()) == sorted(word.values(), reverse=True)[:2]
            assert best.items() <= word.items()


def test_entities_are_in_the_text(project: Project) -> None:
    """Of words the text has a space between two; of a text its words are found, and its own characters count."""
    task = "sequence_labelling_spans"
    rows = rows_of(project, task)
    predictor, seen = Predictor.load(model(project, task)), 0
    for answered, row in zip(predictor.answers(rows), rows, strict=True):
        text = " ".join(row["tokens"])
        assert len(answered["tags"]) == len(row["tokens"])
        assert [tag[2:] for tag in answered["tags"] if tag.startswith("B-")] == [
            entity["type"] for entity in answered["entities"]
        ]
        assert all(text[entity["start"] : entity["end"]] == entity["text"] for entity in answered["entities"])
        seen += len(answered["entities"])
    assert seen > 50
    hidden = "  An esti\u200bmator matrix\r\nwhose shape\u00ad is 0."
    (answered,) = predictor.answers([{"text": hidden}])
    (plain,) = predictor.answers([{"tokens": ["An", "estimator", "matrix", "whose", "shape", "is", "0", "."]}])
    assert answered["tags"] == plain["tags"]
    assert len(answered["entities"]) > 1
    assert all(hidden[entity["start"] : entity["end"]] == entity["text"] for entity in answered["entities"])
    assert answered["entities"][0]["text"].startswith("esti\u200bmator")


def test_answers_are_in_the_original_context(project: Project) -> None:
    task = "extractive_answer_answer"
    threshold = json.loads((model(project, task) / "card.json").read_text())["task"]["tuned"]["no_answer_threshold"]
    answers = probabilities(project, task)
    contexts = {row["id"]: row["context"] for row in rows_of(project, task)}
    for row in answers:
        assert (row["no_answer_score"] > threshold) == (row["answer"] == "") == (row["start"] is None)
        if row["answer"]:
            assert contexts[row["id"]][row["start"] : row["end"]] == row["answer"]
    answered = [row for row in answers if row["answer"]]
    assert 10 < len(answered) < len(answers)
    moved = [{"context": "\u200b \ufeff" + contexts[row["id"]], "question": "Which fish?"} for row in answered]
    again = Predictor.load(model(project, task)).answers(moved, probabilities=True)
    assert [row["start"] - 3 for row in again] == [row["start"] for row in answered]


def test_labels_are_not_looked_at(project: Project, tmp_path: Path) -> None:
    """None, wrong ones, ones of another type: entry 98 of the catalogue ends here."""
    rows = [{"text": row["text"]} for row in rows_of(project, "single_sentence_class")[:6]]
    labels: Iterator[Any] = iter([None, 1, "new", ["x"], 2.5, {}])
    with_labels = [{**row, "label": next(labels)} for row in rows]
    outs = []
    for name, content in {"without": rows, "with": with_labels}.items():
        outs.append(tmp_path / f"{name}.out.jsonl")
        source = json_lines(tmp_path / f"{name}.jsonl", content)
        assert run(model(project, "single_sentence_class"), source, "-o", outs[-1]).exit_code == 0
    assert read(outs[0]) == read(outs[1])


def test_words_without_a_subword_token_are_answered(project: Project) -> None:
    """What the tokenizer drops leaves a forward pass without a place."""
    (answered,) = Predictor.load(model(project, "sequence_labelling_spans")).answers([{"tokens": ["\u0301"]}])
    assert answered["tags"] == ["O"]


@pytest.mark.parametrize("task", ["sequence_labelling_spans", "sequence_labelling_tags"])
def test_what_stock_models_lack_answers_as_evaluation_did(tmp_path: Path, task: str) -> None:
    own = Project(tmp_path, {task: KINDS[task]}, (64, 24, 300))
    own.finetune(task, "general", {"decoder": "crf"}, **LEARNT)
    answers = list(Predictor.load(model(own, task)).answers(rows_of(own, task), probabilities=True))
    assert_as_evaluated(answers, own, task)
    every = [word for answered in answers for word in answered["probabilities"]]
    assert [sum(word.values()) for word in every] == pytest.approx([1.0] * len(every), abs=1e-4)
