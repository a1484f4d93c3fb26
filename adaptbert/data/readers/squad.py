"""Reads SQuAD 1.1 and 2.0, and CMRC 2018: one record a question.

Both forms of CMRC are read: the one like SQuAD, and the flat one (`context_text`, `query_text`), whose answers have no
offsets: the first occurrence of the answer is taken, and counted. `is_impossible` means no answer, even if the question
has answers. A record has `context`, `question`, `answers` (a list of {text, answer_start}), and the other keys of the
file: `id`, and the `title` of its article, which can be mapped as a group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.readers.records import CheckColumns, Problem, Record
from adaptbert.errors import BadData

_FIELD_NAMES = {"context_text": "context", "query_text": "question", "query_id": "id"}
_GUESSED = "answers without an offset, taken at their first place"


def records(document: Any, shown: str, check: CheckColumns, warnings: Counter[str]) -> Iterator[Record]:
    """The line of a record is the number of its question."""
    articles = document.get("data") if isinstance(document, Mapping) else document
    if not isinstance(articles, list):
        problem = "no list of articles below 'data'"
        raise BadData(Code.COLUMN_MISSING, shown, problem, "give a file in the format of SQuAD or CMRC")
    questions = list(_questions(articles))
    if not questions:
        raise BadData(Code.NO_ROWS, shown, "0 questions", "fill it or take it away")
    if names := dict.fromkeys(name for question in questions for name in question):
        check(list(names | {"answers": None}))
    for number, question in enumerate(questions, 1):
        yield _record(number, question, warnings)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so."""
    return text.startswith(("[", "{")) and '"qas"' in text


def _questions(articles: list[Any]) -> Iterator[dict[str, Any]]:
    for article in articles:
        for paragraph in _inner(article, "paragraphs"):
            yield from _inner(paragraph, "qas")


def _inner(outer: Any, key: str) -> Iterator[dict[str, Any]]:
    """The items below the key, each with the other values of `outer`; `outer` itself if it has no such key."""
    if not isinstance(outer, Mapping):
        yield {}
        return
    shared = {name: value for name, value in _named(outer).items() if name != key}
    items = outer.get(key, [{}])
    for inner in items if isinstance(items, list) else [None]:
        yield shared | _named(inner)


def _named(mapping: Any) -> dict[str, Any]:
    return (
        {_FIELD_NAMES.get(str(name), str(name)): value for name, value in mapping.items()}
        if isinstance(mapping, Mapping)
        else {}
    )


def _record(number: int, question: dict[str, Any], warnings: Counter[str]) -> Record:
    if question.get("is_impossible") is True:
        return Record(number, {**question, "answers": []})
    answers, context = question.get("answers"), question.get("context")
    if isinstance(answers, list) and isinstance(context, str) and any(isinstance(answer, str) for answer in answers):
        warnings[_GUESSED] += len(answers)
        placed = [{"text": text, "answer_start": context.find(str(text))} for text in answers]
        missing = any(answer["answer_start"] < 0 for answer in placed)
        problem = Problem(Code.ANSWER_NOT_AT_OFFSET, "an answer is not in its context") if missing else None
        return Record(number, {**question, "answers": placed}, problem)
    return Record(number, {**question, "answers": answers})
