"""Values that are wrong by themselves: each is refused with its place, and a zero too many at once."""

from typing import Any

import pytest

from adaptbert.config.recipe import SECTIONS, Document
from adaptbert.config.schema.section import RESERVED, Section
from tests.support.rules import DEMO, REMOVED, errors, found

SMALL, CORPUS = DEMO["bases"]["small"], {"path": "a.txt"}
TASK = {"type": "text-classification", "train": "a.csv", "dev": "b.csv", "test": "c.csv"}
ANSWERS = {**TASK, "type": "question-answering", "no_answer": False}
SPANS = {**TASK, "type": "token-classification", "tag_scheme": "bio"}
WRONG: list[Any] = [3, [], "x"]
ONCE, SEARCH = {"patience": 1}, {"trials": 4, "seeds": 1, "learning_rate": [1e-5, 1e-4]}

# Changes to the demonstration, the code, and the place of the one error.
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    # ---- keys
    ({"pretrain.learning_rat": 1}, 99, "pretrain.learning_rat"),
    ({"pretrian": {}}, 99, "pretrian"),
    ({"bases.small.layer": 2}, 99, "bases.small.layer"),
    ({"arms": {"far": {"domain": "domain"}}}, 99, "arms.far.domain"),
    ({"arms": {"far": {"again": "domain"}}}, 99, "arms.far.again"),
    ({"arms": ["general", {"far": {"domain": "domain"}}]}, 99, "arms.far.domain"),
    ({"finetune.tag_scheme": "bio"}, 99, "finetune.tag_scheme"),
    ({"overrides": {"section": {"compare": {"confidence": 0.9}}}}, 99, "overrides.section.compare"),
    ({"tasks": REMOVED}, 99, "tasks"),
    ({"tasks.section.type": REMOVED}, 99, "tasks.section.type"),
    # ---- types
    ({"pretrain.betas": 0.9}, 109, "pretrain.betas"),
    ({"tokenize.words": {"dictionary": None}}, 109, "tokenize.words.dictionary"),
    ({"seed": True}, 109, "seed"),
    ({"seed": "1"}, 109, "seed"),
    ({"finetune.class_weights": "even"}, 109, "finetune.class_weights"),
    ({"finetune.class_weights": {"a": -1.0}}, 109, "finetune.class_weights.a"),
    ({"arms": [3]}, 109, "arms"),
    ({"arms": []}, 109, "arms"),
    ({"arms": {"more": {"domain_transfer": "domain", "tasks": []}}}, 109, "arms.more.tasks"),
    *(
        ({place: wrong}, 109, place)
        for place in (*SECTIONS, "compare", "validate", "overrides", "overrides.section", "corpora")
        for wrong in WRONG
    ),
    # ---- ranges
    ({"pretrain.learning_rate": 0.0}, 109, "pretrain.learning_rate"),
    ({"pretrain.weight_decay": float("nan")}, 109, "pretrain.weight_decay"),
    ({"compare.min_gain": 0}, 109, "compare.min_gain"),
    ({"seed": -1}, 109, "seed"),
    ({"seed": 2**64}, 109, "seed"),
    ({"finetune.seeds": 0}, 109, "finetune.seeds"),
    ({"finetune.seeds": 101}, 109, "finetune.seeds"),
    ({"finetune.seeds": list(range(101))}, 109, "finetune.seeds"),
    ({"bases.small.hidden_size": 10**9}, 109, "bases.small.hidden_size"),
    ({"pretrain.tokens": 10**15}, 109, "pretrain.tokens"),
    ({"arms": ["general", "domian"]}, 99, "arms"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "code", "place"), REFUSED, ids=lambda each: str(each)[:60])
def test_refused(changes: dict[str, Any], code: int, place: str) -> None:
    assert found(**changes) == [(code, place)]


# Values that are right by themselves, the place, and what is said of them.
DISAGREEING: list[tuple[dict[str, Any], str, str]] = [
    ({"bases": {}}, "", "neither base nor bases"),
    ({"base": "hfl/rbt3"}, "", "base and bases"),
    ({"bases.small.heads": 3}, "bases.small", "hidden_size 256 % heads 3 = 1, not 0\n  write heads: 2, or"),
    ({"bases.small": SMALL | {"layers": 96, "hidden_size": 16384}}, "bases.small", "440,576 weights in 96 layers"),
    ({"bases.small": {"checkpoint": "models/init/small", "revision": "main"}}, "bases.small", "and revision is given"),
    ({"bases.small": {**SMALL, "checkpoint": "hfl/rbt3"}}, "bases.small", "checkpoint is hfl/rbt3 and sizes are given"),
    ({"bases.small.layers": REMOVED}, "bases.small", "neither a checkpoint nor all sizes"),
    ({"bases.small.revision": "main"}, "bases.small", "neither a checkpoint nor all sizes"),
    ({"pretrain": {}}, "pretrain", "give one of tokens, passes, steps, found none"),
    ({"domain_transfer": {"tokens": 10, "steps": 10}}, "domain_transfer", "keep one"),
    ({"validate": {"min_characters": 300000}}, "validate", "min_characters 300000 > max_characters 200000"),
    ({"finetune": {"seeds": []}}, "finetune", "seeds []: give at least one, each once"),
    ({"finetune": {"seeds": [1, 2, 1]}}, "finetune", "seeds [1, 2, 1]: give at least one, each once"),
    ({"finetune": {"micro_batch_size": 5}}, "finetune", "micro_batch_size 5\n  write global_batch_size: 30"),
    ({"finetune": {"global_batch_size": 16}}, "finetune", "micro_batch_size 32\n  write micro_batch_size: 16"),
    ({"finetune": {"max_length": 256}}, "finetune", "max_length 256 is larger than block_size 128"),
    ({"finetune": {"betas": [0.9, 0.95, 0.98]}}, "finetune", "betas has 3 values, AdamW takes 2"),
    ({"finetune": {"early_stopping": ONCE, "epochs": 1.0}}, "finetune", "nothing to choose from"),
    ({"finetune": {"label_counts": [20, 10]}}, "finetune", "the fewest first"),
    ({"finetune": {"label_counts": []}}, "finetune", "the fewest first"),
    ({"finetune": {"labels": 50, "label_counts": [10, 50]}}, "finetune", "all are trained on anyway"),
    ({"finetune": {"search": SEARCH | {"epochs": []}}}, "finetune.search", "at least one value"),
    ({"finetune": {"search": SEARCH | {"global_batch_size": [8, 8]}}}, "finetune.search", "each once"),
    ({"finetune": {"search": SEARCH | {"learning_rate": [1e-5]}}}, "finetune.search", "the lowest and the highest"),
    ({"finetune": {"search": SEARCH | {"learning_rate": [2e-5, 1e-5]}}}, "finetune.search", "the lowest and the"),
    ({"finetune": {"search": SEARCH | {"trials": 1, "epochs": [3.0, 4.0]}}}, "finetune.search", "< 2 values of epochs"),
    ({"finetune": {"search": SEARCH | {"global_batch_size": [6]}}}, "finetune", "search.global_batch_size 6 is not"),
    ({"finetune": {"search": SEARCH | {"epochs": [1.0, 2.0]}, "early_stopping": ONCE}}, "finetune", "and epochs 1.0"),
    # ---- where texts and labels come from
    ({"corpora.x": {**CORPUS, "columns": {"正文": "text"}}}, "corpora.x", "'正文' is not a field of a corpus\n"),
    ({"corpora.x": {**CORPUS, "format": "squad"}}, "corpora.x", "is for labelled sets"),
    ({"tasks.x": {**TASK, "dev": "a.csv"}}, "tasks.x", "same file"),
    ({"tasks.x": {**TASK, "test": "b.csv"}}, "tasks.x", "dev and test name the same file"),
    ({"tasks.x": {**TASK, "split": {"dev": 0.1}}}, "tasks.x", "names a file of its own"),
    ({"tasks.x": {**TASK, "dev": "a.csv", "split": {"dev": 0.6, "test": 0.4}}}, "tasks.x.split", "nothing to train"),
    ({"tasks.x": {**TASK, "split": {}}}, "tasks.x.split", "\n  give a share"),
    ({"tasks.x": {**TASK, "columns": {"tokens": "x"}}}, "tasks.x", "'tokens' is not a field"),
    ({"tasks.x": {**TASK, "pair": True}}, "tasks.x", "pair: true, and the type is text-classification"),
    ({"tasks.x": {**TASK, "tag_scheme": "bio"}}, "tasks.x", "'text-classification' takes no 'tag_scheme'"),
    ({"tasks.x": {**TASK, "tag_scheme": "none"}}, "tasks.x", "tag_scheme, and the type is text-classification"),
    ({"tasks.x": {**SPANS, "tag_scheme": None}}, "tasks.x", "'token-classification' needs 'tag_scheme'\n"),
    ({"tasks.x": {**SPANS, "format": "doccano", "tag_scheme": "io"}}, "tasks.x", "marks characters"),
    ({"tasks.x": {**TASK, "type": "regression", "range": [1.0, 1.0]}}, "tasks.x", "1.0 is not below 1.0"),
    ({"tasks.x": {**ANSWERS, "no_answer": None}}, "tasks.x", "'question-answering' needs 'no_answer'"),
    ({"tasks.x": {**ANSWERS, "replace": [["a", "b"]]}}, "tasks.x", "offsets must stay aligned"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "place", "words"), DISAGREEING, ids=lambda each: str(each)[:60])
def test_values_that_disagree(changes: dict[str, Any], place: str, words: str) -> None:
    assert found(**changes) == [(111, place)]
    (message,) = errors(**changes)
    assert words in message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("pretrain.learning_rat", 1, "unknown key 'learning_rat' (did you mean 'learning_rate'?)\n  known: "),
        ("pretrain.weight_decay：", 1, "unknown key 'weight_decay：' (did you mean 'weight_decay'?)\n  a full-width"),
        ("tokenizer.lowercase", "“true", "expected true or false, found text '“true'\n  a curly quote (U+201C) stands"),
        ("domain_transfer.tokens", "12k", "expected a valid integer, found text '12k'\n  write a whole number"),
        ("pretrain.sentence_objective", "sob", "expected 'none', 'nsp' or 'sop', found text 'sob'\n  write none"),
        ("finetune.early_stopping", True, "expected a mapping, found a boolean True\n  its keys are patience"),
        ("finetune.dropout", None, "expected a valid number, found nothing\n  write a value behind the colon"),
        ("finetune.seeds", list(range(101)), "seeds: list should have at most 100 items after validation, not 101\n"),
        ("seed", -1, "expected greater than or equal to 0, found an integer -1\n  see docs/parameters.md"),
        ("compare.confidence", "x" * 900_000, f"expected a valid number, found text '{'x' * 79}... (900,002 char"),
        ("compare.confidence", 0.5, "expected greater than 0.5, found a number 0.5\n  see docs/parameters.md"),
        ("corpora.domain.colums", {}, "unknown key 'colums' (did you mean 'columns'?)\n"),
        ("tasks.section.type", "spans", "type: expected 'text-classification', "),
        ("tasks.section.map_labels", {0: "neg"}, "map_labels.0: expected text, found an integer 0\n  write it in"),
        ("finetune.class_weights", 1, "expected 'balanced' or a mapping, found an integer 1\n  write balanced"),
    ],
)  # fmt: skip
def test_the_message_shows_the_value_and_what_to_write(key: str, value: Any, message: str) -> None:
    (shown,) = errors(**{key: value})
    assert message in shown


@pytest.mark.parametrize(
    "changes",
    [
        {"pretrain.learning_rate": 1e-5, "pretrain.clip_norm": 1, "pretrain.betas": [0.9, 0.98]},
        {"arms": ["general", {"news": {"domain_transfer": ["general", "domain"]}}]},
        dict.fromkeys(("tokenizer", "tokenize", "measure", "compare", "validate", "overrides")),
        {"bases.small": {"checkpoint": "bert-base-chinese", "revision": "main"}},
        {"tasks.x": {**SPANS, "format": "doccano"}},
        {"tasks.x": {**SPANS, "format": "doccano", "tag_scheme": None}},
    ],
)
def test_allowed(changes: dict[str, Any]) -> None:
    assert errors() == errors(**changes) == []


def test_all_errors_are_reported_together() -> None:
    """Errors of names hide none of values; errors between sections follow when all values are right."""
    wrong = {"compare.replicates": "many", "pretrain.dropot": 1, "finetune.epochs": "few"}
    assert {place for _, place in found(**wrong)} == {*wrong}
    twice = {"corpora.more": DEMO["corpora"]["domain"], "overrides.x": {}, "tokenizer.corpora": ["x"]}
    assert [place for _, place in found(**twice, **{"finetune.epochs": "few"})] == [
        "finetune.epochs",
        "overrides.x",
        "corpora.more.path",
    ]
    between = {"tokenizer.corpora": ["x"], "tokenize.max_length": 5000, "compare.order": ["x"]}
    assert {place for _, place in found(**between)} == {*between}


@pytest.mark.parametrize(
    ("name", "offered"),
    [("my arm", "my_arm"), ("a/b", "a_b"), ("-x", "x"), ("v1.5", "v1_5"), ("ｍ　ａ", "m_a"), ("My-Arm", "my_arm"),
     ("我的", None), ("x" * 101, None), ("!", None), ("1st", None), ("../escape", "escape"),
     *((name, None) for name in RESERVED)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["arms", "bases", "corpora", "tasks"])
def test_a_name_has_certain_characters(kind: str, name: str, offered: str | None) -> None:
    """And one like it is offered."""
    entries = {"general": {}} if kind == "arms" else DEMO[kind]
    (line,) = errors(**{kind: {**entries, name: next(iter(entries.values()))}})
    assert line.startswith(f"AB-112 params.yaml: {kind}.{name[:80]}")
    assert (f"call it {offered}: " in line) == (offered is not None)


# --- bounds

NO_SIZES = {
    "weight", "class_weights", "epsilon", "clip_norm",  # factors
    "labels", "corpora", "order",  # names, which other names of the file bound
    "range", "betas",  # two numbers each
}  # fmt: skip


def unbounded(kind: Any) -> bool:
    """Whether a number or a list may be as large as it likes, of a JSON schema; other sections are looked at alone."""
    if isinstance(kind, list):
        return any(map(unbounded, kind))
    if not isinstance(kind, dict) or "const" in kind or "enum" in kind:
        return False
    if kind.get("type") in ("integer", "number"):
        return not kind.keys() & {"maximum", "exclusiveMaximum"}
    if kind.get("type") == "array" and "maxItems" not in kind:
        return True
    return any(unbounded(kind.get(part)) for part in ("anyOf", "oneOf", "items", "prefixItems", "additionalProperties"))


def test_every_size_has_an_upper_bound() -> None:
    """Sizes of an allocation, or the length of a loop."""
    classes: dict[str, Any] = {}
    sections: list[type[Section]] = [Document, *(cls for cls, _ in SECTIONS.values())]
    for cls in sections:
        whole = cls.model_json_schema()
        classes |= {cls.__name__: whole, **whole.get("$defs", {})}
    without_bound = [
        f"{cls}.{name}"
        for cls, whole in classes.items()
        for name, kind in whole.get("properties", {}).items()
        if name not in NO_SIZES and unbounded(kind)
    ]
    assert len(classes) > 20
    assert without_bound == []
