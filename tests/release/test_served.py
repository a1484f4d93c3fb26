"""A release behind MLflow's own server: the answers of `predict`, and no row that harms another."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mlflow import pyfunc
from mlflow.pyfunc import scoring_server

from adaptbert import Predictor
from adaptbert.release.record import FILE, MODEL, Release
from adaptbert.release.registry import as_pyfunc
from adaptbert.release.served import LONGEST
from tests.support import releases
from tests.support.cells import Project
from tests.support.predicting import KINDS, PAIR, SPANS, json_lines, read, rows_of, run

QUICK = (PAIR, SPANS)


def client(folder: Path) -> TestClient:
    """The application that `mlflow models serve` runs, on a release."""
    pyfunc.save_model(folder / "served", **as_pyfunc(folder, Release.read(folder / FILE)))
    return TestClient(scoring_server.init(pyfunc.load_model(str(folder / "served"))), raise_server_exceptions=False)


def asked(server: TestClient, rows: Any, **params: Any) -> list[dict[str, Any]]:
    body = json.dumps({"inputs": rows, "params": params})  # half a character is escaped, unlike by `json=`
    response = server.post("/invocations", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200, response.text
    return list(response.json()["predictions"])


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=() if task in QUICK else pytest.mark.slow) for task in KINDS]
)
def test_answers_are_those_of_predict(here: Path, trained: Project, task: str) -> None:
    """To all test rows at once, with ids, details, other columns; and to bad rows between good ones, beside a file."""
    folder = releases.release(here, trained, task, task, 1)
    server, predictor = client(folder), Predictor.load(folder / MODEL)
    rows = rows_of(trained, task)
    assert asked(server, rows) == predictor.predict(rows)
    assert asked(server, rows, probabilities=True) == predictor.predict(rows, probabilities=True)
    name = next(name for name in ("context", "text_b", "text", "tokens") if name in rows[0])
    bad = [{**rows[1], name: cell} for cell in (5, None, "", {"a": "b"}, [])]
    lines = [rows[0], *bad, rows[2], {"id": "lacks all"}, rows[3]]
    out = here / "out.jsonl"
    assert run(folder / MODEL, json_lines(here / "in.jsonl", lines), "-o", out).exit_code == 65
    answers = asked(server, lines)
    assert answers == read(out)
    assert [place for place, answer in enumerate(answers) if "error" in answer] == [1, 2, 3, 4, 5, 7]


def test_rows_of_any_form(here: Path, trained: Project) -> None:
    """One that is no mapping, too long, or has an id that is none, has an error of its own."""
    server = client(releases.release(here, trained, PAIR, PAIR, 1))
    good = {"text_a": "the shape", "text_b": "of the array"}
    given = [
        good, 5, None, True, "a text alone", ["a", "b", "c"], [], {}, {**good, "id": [1]}, {**good, "id": 1e300},
        {**good, "text_a": "a" * LONGEST}, {**good, "text_a": "\ud800"}, [*good.values()], {**good, "id": 7},
    ]  # fmt: skip
    first, *bad, same, named = asked(server, given)
    # The last digits of a row depend, on some processors, on its place in the batch.
    assert [answer["label"] for answer in (same, named)] == [first["label"]] * 2
    assert [answer["confidence"] for answer in (same, named)] == pytest.approx([first["confidence"]] * 2, rel=1e-5)
    assert (same.keys(), named.keys(), named["id"]) == (first.keys(), first.keys(), "7")
    assert [answer.keys() for answer in bad] == [{"id", "error"}] * len(bad)
    assert bad[9]["error"] == "AB-022 100,012 characters, and at most 100,000 are read"


def test_requests_that_are_none(here: Path, trained: Project) -> None:
    """They are refused with a message, and the next is answered."""
    server = client(releases.release(here, trained, SPANS, SPANS, 1))
    for body in ("", "{bad", "[]", "{}", "\xff", '{"inputs": "text"}', '{"inputs": {"text": "a"}}', '{"rows": []}'):
        response = server.post("/invocations", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == 400, body
        assert json.loads(response.text)["message"], body
    refused = server.post("/invocations", json={"inputs": ["a"], "params": {"probabilities": "x"}})
    assert refused.status_code == 400
    assert asked(server, []) == []
    assert len(asked(server, ["the shape"])) == 1
