"""Reads SQuAD 1.1 and 2.0, and CMRC 2018: one row a question.

Both forms of CMRC are read: the one like SQuAD, and the flat one (`context_text`, `query_text`), whose answers have no
offsets: the first occurrence of the answer is taken, and counted. `is_impossible` means no answer, even if the question
has answers. A row has `context`, `question`, `answers` (a list of {text, answer_start}), and the other keys of the
file: `id`, and the `title` of its article, which is the group of its questions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.read_json import document
from adaptbert.data.rows import Problem, Row, SourceFile

_FIELD_NAMES = {"context_text": "context", "query_text": "question", "query_id": "id"}
_GUESSED = "answers without an offset, taken at their first place"


def records(file: SourceFile) -> Iterator[Row]:
    """The line of a row is the number of its question."""
    content = document(file)
    articles = content.get("data") if isinstance(content, Mapping) else content
    if not isinstance(articles, list):
        problem = "no list of articles below 'data'"
        raise file.error(Code.COLUMNS, problem, "give a file in the format of SQuAD or CMRC")
    paragraphs = [paragraph for article in articles for paragraph in _inner(article, "paragraphs")]
    questions = [question for paragraph in paragraphs for question in _inner(paragraph, "qas")]
    if not questions:
        raise file.error(Code.EMPTY_FILE, "0 questions", "fill it or take it away")
    if names := dict.fromkeys(name for question in questions for name in question):
        file.check(list(names | {"answers": None}))
    for number, question in enumerate(questions, 1):
        answers, wrong = _answers(question, file.warnings)
        title = str(question.get("title") or "").strip() or None
        yield file.row(number, {**question, "answers": answers}, wrong)._replace(group=title)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so."""
    return text.startswith(("[", "{")) and '"qas"' in text


def _inner(outer: Any, key: str) -> list[dict[str, Any]]:
    """The items below the key, each with the other values of `outer`; `outer` itself if it has no such key."""
    if not isinstance(outer, Mapping):
        return [{}]
    shared = {name: value for name, value in _named(outer).items() if name != key}
    items = outer.get(key, [{}])
    return [shared | _named(inner) for inner in (items if isinstance(items, list) else [None])]


def _named(mapping: Any) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        return {}
    return {_FIELD_NAMES.get(str(name), str(name)): value for name, value in mapping.items()}


def _answers(question: Mapping[str, Any], warnings: Counter[str]) -> tuple[Any, Problem | None]:
    """The answers; plain texts get the offset of their first occurrence."""
    if question.get("is_impossible") is True:
        return [], None
    answers, context = question.get("answers"), question.get("context")
    if not isinstance(answers, list) or not isinstance(context, str) or not any(isinstance(a, str) for a in answers):
        return answers, None
    warnings[_GUESSED] += len(answers)
    placed = [{"text": text, "answer_start": context.find(str(text))} for text in answers]
    missing = any(answer["answer_start"] < 0 for answer in placed)
    return placed, Problem(Code.OFFSETS, "an answer is not in its context") if missing else None
