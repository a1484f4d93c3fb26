"""Which column of a file is which field, by its name.

Nothing is guessed where two columns would do: the error names the option that decides.
"""

from collections.abc import Mapping

from adaptbert.base.task_types import TaskType
from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams, nearest
from adaptbert.project.tasks.sight import Sight

FIELDS: Mapping[TaskType, tuple[str, ...]] = {
    "sequence_labelling": ("tokens", "tags"),
    "extractive_answer": ("context", "question", "answers"),
    "sentence_pair": ("text_a", "text_b", "label"),
    "single_sentence": ("text", "label"),
}
"""Task type -> its fields; `label` stands for the field of any target. Those with more fields first."""
LABELS = ("label", "labels", "value")
"""The fields that a label of a row can be."""

_NAMES = {
    "tokens": "tokens words chars",
    "tags": "tags ner_tags pos_tags upos xpos tag ner pos labels label",
    "context": "context passage paragraph article 文章 段落",
    "question": "question query 问题",
    "answers": "answers answer 答案",
    "text_a": "text_a text1 sentence1 sentence_a premise question1 s1 q1 句子1 文本1 前提",
    "text_b": "text_b text2 sentence2 sentence_b hypothesis claim question2 s2 q2 句子2 文本2 假设",
    "text": "text sentence content review comment body post tweet document message 文本 内容 评论 句子 正文",
    "label": "label labels value class classes category categories target sentiment emotion intent topic topics score "
    "rating stars gold_label 标签 类别 分类 情感 评分",
}
"""Field -> names that columns of files have for it, the field itself first."""
Assignment = Mapping[str, str]


def assigned(sight: Sight, columns: Assignment, shape: TaskType | None) -> tuple[TaskType, dict[str, str]]:
    """The task type, and field -> column. A label stands under `label`, whatever its target will be.

    Args:
        columns: what the user says.
        shape: the same.

    Raises:
        BadData: no task type fits the columns, or several do.
        BadParams: the user names a column or a field that is not there.
    """
    _check(sight, columns)
    fixed = {("label" if field in LABELS else field): column for field, column in columns.items()}
    kinds = [kind for kind in FIELDS if shape in (None, kind)]
    fits = {kind: fields for kind in kinds if (fields := _fields(sight, kind, fixed))}
    if not fits:
        raise _unclear(sight, shape)
    kind, *others = fits
    if others:
        problem = f"its columns fit {' and '.join(fits)}: {', '.join(sight.columns)}"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, f"choose one: --shape {kind}")
    return kind, fits[kind]


def _check(sight: Sight, columns: Assignment) -> None:
    known = [*dict.fromkeys(field for fields in FIELDS.values() for field in fields), "labels", "value", "id", "group"]
    for field, column in columns.items():
        if field not in known:
            problem = f"'{field}' is no field{nearest(field, known)}"
            raise BadParams(Code.UNKNOWN_KEY, "--columns", problem, f"fields are {', '.join(known)}")
        if column not in sight.columns:
            problem = f"{sight.path} has no column '{column}'{nearest(column, sight.columns)}"
            raise BadParams(Code.UNKNOWN_KEY, f"--columns {field}", problem, f"it has {', '.join(sight.columns)}")


def _fields(sight: Sight, kind: TaskType, fixed: Assignment) -> dict[str, str] | None:
    """The columns of a task type; None where one is missing, or where the user named a field that it does not have."""
    fields = FIELDS[kind]
    if not set(fixed) <= {*fields, "id", "group"}:
        return None
    chosen = {field: column for field, column in fixed.items() if field in fields}
    for field in fields:
        if field not in chosen:
            free = [name for name in _named(sight, field) if name not in chosen.values()]
            if free and _holds(sight, field, free[0]):
                chosen[field] = free[0]
    extra = {field: fixed[field] for field in ("id", "group") if field in fixed}
    return {**{field: chosen[field] for field in fields}, **extra} if set(chosen) >= set(fields) else None


def _named(sight: Sight, field: str) -> list[str]:
    """Columns with a name for the field, the surest first."""
    lower = {column.strip().lower(): column for column in reversed(sight.columns)}
    return [lower[name] for name in _NAMES[field].split() if name in lower]


def _holds(sight: Sight, field: str, column: str) -> bool:
    """Whether the values can be those of the field: lists of tokens, text, or a label of any kind."""
    values = [row[column] for row in sight.rows[:50] if row.get(column) is not None]
    if field in ("tokens", "tags"):
        return bool(values) and all(isinstance(value, list) for value in values)
    if field == "answers":
        return bool(values) and all(isinstance(value, list | Mapping) for value in values)
    return field == "label" or all(isinstance(value, str) for value in values)


def _unclear(sight: Sight, shape: TaskType | None) -> BadData:
    fields = FIELDS[shape or "single_sentence"]
    example = " ".join(f"--columns {field}=COLUMN" for field in fields)
    there = ", ".join(sight.columns)
    problem = f"which columns are {' and '.join(fields)}? There are {there}"
    pair = "" if shape else "; of a pair of texts: --columns text_a=COLUMN --columns text_b=COLUMN"
    return BadData(Code.UNCLEAR_FILE, sight.path, problem, f"name them: {example}{pair}")
