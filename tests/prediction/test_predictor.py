"""`Predictor` for every task type: bit-identical to evaluation; probabilities, entities, offsets; rows in any form."""

import ast
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import pipeline

from adaptbert.comparison.baselines import keep_linear_models
from adaptbert.config.schema.task_types import TARGETS, TASK_TYPES, written
from adaptbert.core.files import read_json, write_json
from adaptbert.data import tag_schemes
from adaptbert.errors import BadData
from adaptbert.prediction.predictor import HELD, Predictor
from adaptbert.report import answer as report
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import COMPARED_BY
from adaptbert.tasks.outputs import PREDICT_ROWS, PREDICT_TOKENS, passes
from tests.support import tiny_tasks
from tests.support.cells import Project
from tests.support.checkpoint_edits import edit
from tests.support.imports import ROOT
from tests.support.predicting import ANSWER, CLASS, KINDS, PAIR, ROWS, SPANS, json_lines, model, read, rows_of, run


def answers(project: Project, task: str, rows: list[Any] | None = None, **options: Any) -> list[dict[str, Any]]:
    """To 40 rows, with probabilities where nothing else is said."""
    requests = rows_of(project, task)[:40] if rows is None else rows
    return Predictor.load(model(project, task)).predict(requests, **(options or {"probabilities": True}))


@pytest.mark.parametrize("task", KINDS)
def test_it_answers_what_evaluation_answered(project: Project, task: str, tmp_path: Path) -> None:
    """The file of the test set through the command: equal answers, and confidences equal to the last bit."""
    out = tmp_path / "out.jsonl"
    done = run(model(project, task), project.root / "data" / task / "test.parquet", "-o", out)
    assert done.exit_code == 0, done.output
    answer, answered = TARGETS[KINDS[task][1]].answer, read(out)
    for row, evaluated in zip(answered, project.predictions(f"{task}-general"), strict=True):
        assert (row["id"], written(row[answer])) == (evaluated["id"], evaluated["predicted"])
        assert np.array_equal(row.get("confidence", np.nan), evaluated["confidence"], equal_nan=True)
    assert len(answered) == ROWS[2]
    assert all(row.keys() <= {"id", "tokens", answer, "confidence", "entities"} for row in answered)
    assert len({json.dumps(row.get("confidence", row[answer])) for row in answered}) > 100, "bits that could differ"
    assert answers(project, task, rows_of(project, task), probabilities=False) == answered, "and from Python"


LOADED = """
import sys
import adaptbert
(answer,) = adaptbert.Predictor.load(sys.argv[1]).predict(["a good day"])
assert set(answer) == {"id", "label", "confidence"}, answer
print(*sys.modules)
"""
OF_A_PIPELINE = {"dvc", "prefect", "mlflow", "pytorch_lightning"}
OF_AN_ENCODER = {"torch", "transformers"}


def test_a_service_loads_what_answers_and_no_more(project: Project, tmp_path: Path) -> None:
    """The platforms of the pipeline for no model, and for a linear one no encoder."""
    keep_linear_models(tmp_path, [project.root / "data" / CLASS], 1)
    for folder, others in ((model(project, CLASS), OF_A_PIPELINE), (tmp_path / CLASS, OF_A_PIPELINE | OF_AN_ENCODER)):
        command = [sys.executable, "-c", LOADED, str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) & others == set(), folder


@pytest.mark.parametrize("task", KINDS)
def test_it_learns_what_can_be_learnt(project: Project, task: str) -> None:
    """And what a stage writes is read whole."""
    record = CellMetrics.read(project.root / f"metrics/{task}-general.json")
    assert record.metric == COMPARED_BY[KINDS[task][1]]  # type: ignore[index]
    assert record.seeds[0].test[record.metric] > 0.85
    assert not record.seeds[0].failed
    assert (record.unanswerable is None) == (KINDS[task][1] != "answer")
    assert record.as_json() == read_json(project.root / f"metrics/{task}-general.json")


@pytest.mark.parametrize("task", [task for task in KINDS if task.startswith(("single_sentence", "sentence_pair"))])
def test_the_pipeline_of_transformers_answers_alike(project: Project, task: str) -> None:
    """Also to pairs that are cut: the tokenizer in the folder knows where. Texts that are cut are read in windows."""
    columns = [*TASK_TYPES[KINDS[task][0]].inputs]  # type: ignore[index]
    rows = [row for row in rows_of(project, task) if all(row[column] for column in columns)][:20]
    if len(columns) > 1:
        rows += [{**row, columns[-1]: " ".join([row[columns[-1]]] * 50)} for row in rows[:5]]
    folder = str(model(project, task))
    pipe = pipeline("text-classification", model=folder, device="cpu", top_k=None, truncation=True)
    assert pipe.tokenizer.model_max_length == 48
    for row, answered in zip(rows, answers(project, task, rows), strict=True):
        texts = {name: row[column] for name, column in zip(("text", "text_pair"), columns, strict=False)}
        scores: Any = {each["label"]: each["score"] for each in pipe(texts)}
        if "value" in answered:
            assert [*scores.values()] == [pytest.approx(answered["value"], abs=1e-2)]
        else:
            assert scores == pytest.approx(answered["probabilities"], abs=1e-4)
            assert [*answered["probabilities"]] == tiny_tasks.LABELS[KINDS[task][1]], "in the order of the task"


@pytest.mark.parametrize("use", ["is_decoder", "output_attentions", "chunk_size_feed_forward"])
def test_a_base_that_had_another_use(tmp_path: Path, use: str) -> None:
    """What is fine-tuned from it answers alike here and in transformers, also to texts of lengths that differ."""
    project = Project(tmp_path, {"section": ("single_sentence", "class")}, (48, 24, 24))
    base = project.root / "models/pretrain"
    (base / "card.json").unlink()
    edit(base, "config.json", **{use: 8 if use.startswith("chunk") else True})
    project.finetune("section", "general", seeds=[1], epochs=1.0, learning_rate=5e-2)
    texts = ["a code word", "bread or fish bought by the river", "returned values"]
    pipe = pipeline("text-classification", model=str(model(project, "section")), device="cpu", top_k=None)
    for text, answered in zip(texts, answers(project, "section", texts), strict=True):
        scores = {each["label"]: each["score"] for each in pipe([text])[0]}
        assert scores == pytest.approx(answered["probabilities"], abs=1e-5)


@pytest.mark.parametrize("task", [SPANS, "sequence_labelling_tags"])
def test_the_pipeline_of_transformers_tags_words_alike(project: Project, task: str) -> None:
    """The tag of a word's first piece is the likeliest of ours; which is the answer, unless no entity has such tags."""
    rows = [row for row in rows_of(project, task) if len(row["tokens"]) < 20][:20]
    pipe = pipeline("token-classification", model=str(model(project, task)), device="cpu", ignore_labels=[])
    for row, answered in zip(rows, answers(project, task, rows), strict=True):
        pieces = {piece["start"]: piece["entity"] for piece in pipe(" ".join(row["tokens"]))}
        begins = accumulate((len(token) + 1 for token in row["tokens"][:-1]), initial=0)
        likeliest = [max(of_word, key=lambda tag: of_word[tag]) for of_word in answered["probabilities"]]
        assert [pieces[begin] for begin in begins] == likeliest
        assert likeliest == answered["tags"] or tag_schemes.legal(likeliest, "bio") != likeliest


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("folder", ["models/finetune/{}-general", "models/linear/{}"])
def test_the_lines_of_the_page_run_as_they_stand(
    project: Project,
    tmp_path: Path,
    task: str,
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the folder of a project: the command, and the Python below it, which says what the model answers."""
    shape, target = KINDS[task]
    keep_linear_models(tmp_path / "models/linear", [project.root / "data" / task], 1)
    (tmp_path / "models/finetune").symlink_to(project.root / "models/finetune")
    monkeypatch.chdir(tmp_path)
    if not Path(folder.format(task)).exists():
        assert target == "answer", "its baseline is not fitted"
        return
    of_page: Any = SimpleNamespace(task_type=shape, target=target)
    in_shell, in_python = report.commands(of_page, folder.format(task), trained="finetune" in folder).values()
    json_lines(Path("new.jsonl"), rows_of(project, task)[:3])
    *program, model_folder, rows, option, out = shlex.split(in_shell, comments=True)
    assert program == ["adaptbert", "predict"]
    assert run(model_folder, rows, option, out).exit_code == 0
    assert len(pd.read_csv("answers.csv")) == 3
    exec(compile(in_python, "page", "exec"), {})
    said = capsys.readouterr().out
    request: Any = ("a text", "a text") if shape == "sentence_pair" else "a text"
    if "from transformers" not in in_python:
        row = dict.fromkeys(TASK_TYPES[shape].inputs, "a text")  # type: ignore[index]
        (answered,) = Predictor.load(folder.format(task)).predict([row if len(row) > 1 else "a text"])
        assert said == f"{answered}\n"
    else:
        (answered, *_) = Predictor.load(folder.format(task)).predict([request], probabilities=True)
        (of_pipeline, *_) = ast.literal_eval(said)
        scores = {
            each["label"]: each["score"] for each in (of_pipeline if isinstance(of_pipeline, list) else [of_pipeline])
        }
        if target == "number":
            assert [*scores.values()] == [pytest.approx(answered["value"], abs=1e-2)]
        else:
            ours = answered["probabilities"]
            assert scores == pytest.approx({name: ours[name] for name in scores}, abs=1e-4)
            assert len(scores) == (1 if target == "class" else len(ours))


@pytest.mark.parametrize("kind", ["finetune", "linear"])
def test_texts_and_columns_are_those_of_the_task(tmp_path: Path, kind: str) -> None:
    """A column of the task comes before one that has our name for it; what `columns` says before both."""
    project = Project(tmp_path, {"section": ("single_sentence", "class")}, (48, 24, 24))
    about = tmp_path / "data/section/task.json"
    of_task = {"replace": [["@[a-z]+", "estimator"]], "columns": {"text": "post", "id": "number"}}
    write_json(about, {**read_json(about), **of_task})
    folder = model(project, "section") if kind == "finetune" else tmp_path / "linear/section"
    if kind == "finetune":
        project.finetune("section", "general", seeds=[1], epochs=1.0)
    else:
        keep_linear_models(tmp_path / "linear", [about.parent], 1)
    predictor = Predictor.load(folder)
    expected = predictor.predict("a estimator word")
    assert predictor.predict("a @somebody word") == expected
    out, source = tmp_path / "out.jsonl", json_lines(tmp_path / "in.jsonl", [{"text": "a @somebody word"}])
    assert run(folder, source, "-o", out).exit_code == 0
    assert read(out) == expected
    posts = json_lines(source, [{"text": "another", "post": "a @somebody word", "number": 9}])
    assert run(folder, posts, "-o", out).exit_code == 0
    assert read(out) == [{**expected[0], "id": "9"}]
    wrong = run(folder, json_lines(source, [{"title": "a"}]), "-o", out)
    assert "column 'post' missing; found title" in wrong.stderr
    assert "--columns text=title" in wrong.stderr, "our name for it stands where it is typed"
    others = json_lines(source, [{"post": "another", "title": "a @somebody word"}])
    assert run(folder, others, "--columns", "text=title", "-o", out).exit_code == 0
    assert read(out) == expected
    predictor.task = predictor.task.model_copy(update={"replace": None})
    assert predictor.predict("a @somebody word") != expected


def test_a_pattern_of_a_linear_model_that_is_none(tmp_path: Path) -> None:
    """The file is named, also where the pattern came with the model of somebody else."""
    about = tiny_tasks.task(tmp_path / "data/section", "single_sentence") / "task.json"
    write_json(about, {**read_json(about), "replace": [["(", "x"]]})
    keep_linear_models(tmp_path / "linear", [about.parent], 1)
    with pytest.raises(BadData, match=r"linear\.safetensors: replace: '\('"):
        Predictor.load(tmp_path / "linear/section")


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


def test_bad_rows_do_not_wait_without_end(project: Project) -> None:
    """Behind a good one; the groups after it are cut as if there were no bad rows."""
    predictor, good, taken = Predictor.load(model(project, CLASS)), rows_of(project, CLASS)[:140], 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for row in [good[0], *[{"id": "none", "text": ""}] * 3_000, *good[1:]]:
            taken += 1
            yield row

    answered = predictor.answers(rows())
    first = next(answered)
    assert taken == HELD * PREDICT_ROWS
    labelled = [first, *(row for row in answered if "error" not in row)]
    alone = predictor.predict(good)
    assert [row["label"] for row in labelled] == [row["label"] for row in alone]
    assert labelled[PREDICT_ROWS:] == alone[PREDICT_ROWS:], "to the last bit"
    assert len(labelled) == 140


# ---- probabilities, entities, offsets


def test_probabilities_of_words(project: Project) -> None:
    for answered in answers(project, "sequence_labelling_tags"):
        words = answered["probabilities"]
        assert [max(word, key=lambda tag: word[tag]) for word in words] == answered["tags"]
        assert answered["confidence"] == min(max(word.values()) for word in words)


def test_entities_are_in_the_text(project: Project) -> None:
    """The text of words has a space between two; in a text words are found, and its own characters count."""
    rows, seen = rows_of(project, SPANS), 0
    for answered, row in zip(answers(project, SPANS, rows, probabilities=False), rows, strict=True):
        text, entities = " ".join(row["tokens"]), answered["entities"]
        assert len(answered["tags"]) == len(row["tokens"])
        assert [tag[2:] for tag in answered["tags"] if tag.startswith("B-")] == [each["type"] for each in entities]
        assert all(text[each["start"] : each["end"]] == each["text"] for each in entities)
        seen += len(entities)
    assert seen > 50
    blank = [[*each[:2], "\u3000", *each[2:], " "] for each in (row["tokens"] for row in rows)]
    for answered, row, tokens in zip(answers(project, SPANS, blank), answers(project, SPANS, rows), blank, strict=True):
        assert (answered["tokens"], answered["tags"]) == (row["tokens"], row["tags"])
        text = " ".join(tokens)
        assert all(text[each["start"] : each["end"]] == each["text"] for each in answered["entities"])
    hidden = "  An esti\u200bmator matrix\r\nwhose shape\u00ad is 0."
    found, plain, nothing = answers(
        project, SPANS, [hidden, ["An", "estimator", "matrix", "whose", "shape", "is", "0", "."], ["\u0301"]]
    )
    assert found["tags"] == plain["tags"]
    assert len(found["entities"]) > 1
    assert all(hidden[each["start"] : each["end"]] == each["text"] for each in found["entities"])
    assert found["entities"][0]["text"].startswith("esti\u200bmator")
    assert nothing["tags"] == ["O"], "what the tokenizer drops leaves a forward pass without a place"


def test_answers_are_in_the_original_context(project: Project) -> None:
    threshold = read_json(model(project, ANSWER) / "card.json")["task"]["tuned"]["no_answer_threshold"]
    every = answers(project, ANSWER)
    contexts = {row["id"]: row["context"] for row in rows_of(project, ANSWER)}
    for row in every:
        assert (row["no_answer_score"] > threshold) == (row["answer"] == "") == (row["start"] is None)
        if row["answer"]:
            assert contexts[row["id"]][row["start"] : row["end"]] == row["answer"]
    answered = [row for row in every if row["answer"]]
    assert 10 < len(answered) < len(every)
    moved = [{"context": "\u200b \ufeff" + contexts[row["id"]], "question": "Which fish?"} for row in answered]
    assert [row["start"] - 3 for row in answers(project, ANSWER, moved)] == [row["start"] for row in answered]


# ---- the forms of a row


def test_rows_in_any_form(project: Project) -> None:
    """A text, a pair, tokens and a table say what mappings say; a text alone is one row and no list of letters."""
    texts = [row["text"] for row in rows_of(project, CLASS)[:5]]
    expected = answers(project, CLASS, [{"text": text} for text in texts])
    assert answers(project, CLASS, texts) == expected
    predictor = Predictor.load(model(project, CLASS))
    assert predictor.predict(pd.DataFrame({"id": ["a", "b"], "text": texts[:2], "more": 1}))[1]["id"] == "b"
    assert [row["id"] for row in predictor.predict(texts[0])] == ["1"]
    table = predictor.frame([*texts, ""])
    assert table["label"][:5].tolist() == [row["label"] for row in expected]
    assert (table["label"].isna().tolist(), table["error"][5][:6]) == ([False] * 5 + [True], "AB-041")
    pairs = [(row["text_a"], row["text_b"]) for row in rows_of(project, PAIR)[:5]]
    mappings = [{"text_a": first, "text_b": second} for first, second in pairs]
    assert answers(project, PAIR, pairs) == answers(project, PAIR, mappings)
    (answered,) = answers(project, SPANS, [["An", "estimator"]])
    assert len(answered["tags"]) == 2


def test_the_index_of_pandas_is_kept(project: Project) -> None:
    """So that an assignment gives every row its own answer, also where two rows have one label."""
    texts = [row["text"] for row in rows_of(project, CLASS)[:4]]
    predictor = Predictor.load(model(project, CLASS))
    expected = [row["label"] for row in predictor.predict(texts)]
    rows = pd.DataFrame({"text": texts, "more": pd.NA}, index=[7, 3, 3, "x"])
    for form in (rows, rows["text"]):
        answered = predictor.frame(form)
        assert (answered.index.tolist(), answered["label"].tolist()) == ([7, 3, 3, "x"], expected)
        assert [row["id"] for row in predictor.answers(form)] == answered["id"].tolist() == ["7", "3", "3", "x"]
    named = rows.assign(id=pd.array([2**53 + 1, 2**63 - 1, pd.NA, 7], dtype="Int64"))
    assert predictor.frame(named)["id"].tolist() == [str(2**53 + 1), str(2**63 - 1), "3", "7"]
    assert predictor.frame(rows[:0]).index.tolist() == []
    (empty,) = predictor.predict(pd.DataFrame({"text": [None]}))
    assert empty["error"] == "AB-041 text is null"


def test_ids_are_written_as_they_were_read(project: Project, tmp_path: Path) -> None:
    """Whole numbers above 2^53 too; a float, which pandas makes of them where one is missing, has lost digits."""
    long = 2**53 + 1
    files = {
        "a.csv": f"id,text\n{long},a b\n007,a b\n7.0,a b\n1e18,a b\n",
        "a.jsonl": "".join(f'{{"id": {each}, "text": "a b"}}\n' for each in (long, '"007"', "7.0", "0.5", 10**18)),
    }
    expected = {
        "a.csv": [str(long), "007", "7.0", "1e18"],
        "a.jsonl": [str(long), "007", "7", "0.5", str(10**18)],
        "a.parquet": [str(long), "2", "7"],
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    numbers = pa.table({"id": pa.array([long, None, 7], pa.int64()), "text": ["a b"] * 3})
    pq.write_table(numbers, tmp_path / "a.parquet")
    for name, ids in expected.items():
        for out in (tmp_path / "out.jsonl", tmp_path / "out.csv", tmp_path / "out.parquet"):
            assert run(model(project, CLASS), tmp_path / name, "-o", out).exit_code == 0
            table = pd.read_csv(out, dtype=str) if out.suffix == ".csv" else None
            table = pd.read_parquet(out) if out.suffix == ".parquet" else table
            assert (table["id"].tolist() if table is not None else [row["id"] for row in read(out)]) == ids
    numbers.to_pandas().to_parquet(tmp_path / "b.parquet")
    done = run(model(project, CLASS), tmp_path / "b.parquet", "-o", tmp_path / "b.csv")
    assert (done.exit_code, (tmp_path / "b.csv").exists()) == (65, False)
    problem = "column 'id' holds whole numbers from 2^53 on as floats, which have lost their last digits"
    assert f"AB-056 {tmp_path}/b.parquet:1: {problem}\n  write them as text or integers" in done.stderr


@pytest.mark.parametrize(
    ("task", "row", "words"),
    [
        (CLASS, {"content": "a"}, "column 'text' missing; found content\n  give every row a value under 'text'"),
        (CLASS, ["a", "b"], "2 texts, and this model reads text\n  give it one value for each"),
        (PAIR, "a", "column 'text_b' missing; found text_a (did you mean 'text_a'?)\n  give every row a value"),
    ],
)
def test_rows_without_an_input(project: Project, task: str, row: Any, words: str) -> None:
    with pytest.raises(BadData) as caught:
        answers(project, task, [row])
    assert str(caught.value).startswith("AB-056 rows[0]: ")
    assert words in str(caught.value)


def test_rows_from_outside(project: Project) -> None:
    """What is wrong with one is its own error, which has its id; the ids of the others are those that they have."""
    predictor = Predictor.load(model(project, PAIR))
    good = {"text_a": "the shape", "text_b": "of the array"}
    rows = [{**good, "id": "a"}, good, {"id": "c"}, {**good, "text_a": "shape " * 20}, ["a", "b", "c"], None]
    answers = predictor.predict(rows[:2])
    assert [answer["id"] for answer in answers] == ["a", "2"]
    bad = [{"id": "c", "error": "AB-056 column 'text_a' missing in this row"}]
    bad += [{"id": "4", "error": "AB-022 132 characters, and at most 100 are read"}]
    bad += [{"id": "5", "error": "AB-056 3 texts, and this model reads text_a and text_b"}]
    bad += [{"id": "6", "error": "AB-041 text_a missing"}]
    assert [*predictor.answers(rows, longest=100)] == [*answers, *bad]
