"""SQuAD 1.1 and 2.0, and CMRC 2018 -> one record a question.

Both forms of CMRC are read: the one like SQuAD, and the flat one (`context_text`, `query_text`), whose answers have no
offsets: there the first place of the answer is taken, and counted. `is_impossible` means no answer, whatever else the
question has. A record has `context`, `question`, `answers` (a list of {text, answer_start}), and what else the file
tells: `id`, and the `title` of its article, to be mapped as a group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.codes import Code
from adaptbert.collection.readers.records import CheckColumns, Problem, Record
from adaptbert.errors import BadData

_OURS = {"context_text": "context", "query_text": "question", "query_id": "id"}
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
    """Whether a file may begin so."""
    return text.startswith(("[", "{")) and '"qas"' in text


def _questions(articles: list[Any]) -> Iterator[dict[str, Any]]:
    for article in articles:
        for paragraph in _inner(article, "paragraphs"):
            yield from _inner(paragraph, "qas")


def _inner(outer: Any, key: str) -> Iterator[dict[str, Any]]:
    """What stands below the key, each with what is said once for all of them; the outer itself where it has none."""
    if not isinstance(outer, Mapping):
        yield {}
        return
    shared = {name: value for name, value in _named(outer).items() if name != key}
    found = outer.get(key, [{}])
    for inner in found if isinstance(found, list) else [None]:
        yield shared | _named(inner)


def _named(found: Any) -> dict[str, Any]:
    return (
        {_OURS.get(str(name), str(name)): value for name, value in found.items()} if isinstance(found, Mapping) else {}
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
