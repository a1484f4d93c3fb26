"""Rules between the sections of params.yaml: each broken on its own in a copy of the demo, and what is only worth a
notice."""

from typing import Any

import pytest

from tests.support.rules import DEMO, REMOVED, errors, found, notices, recipe

STEPS = ("pretrain", "domain_transfer", "task_transfer")

ARMS: dict[str, dict[str, Any]] = {
    "scratch": {"pretrain": "none"},
    "general": {},
    "general_long": {"domain_transfer": "general"},
    "domain": {"domain_transfer": "domain"},
    "task": {"task_transfer": "own"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}
"""Arms of the demo, as a mapping."""
SMALL, SECTION, CORPUS = DEMO["bases"]["small"], DEMO["tasks"]["section"], DEMO["corpora"]["domain"]
FILES = {"train": "train.jsonl", "dev": "dev.jsonl", "test": "test.jsonl"}
ANSWERS = {**FILES, "type": "question-answering", "no_answer": True}
BOTH = {"domain_transfer": ["general", "domain"]}
PROBE = {"arms": {"general": {}, "probe": {}}}
DOMAIN_ALONE: dict[str, Any] = {"corpora.general": REMOVED, "arms": None, "pretrain": {}}
NO_CORPUS = DOMAIN_ALONE | {"corpora": None}
TWICE = "overrides.probe.finetune"


def arms(**more: dict[str, Any]) -> dict[str, Any]:
    """The arms of the demo and others, or other ones of these names."""
    return {"arms": ARMS | more}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(arms(), id="the demo"),
        pytest.param({"arms": {"plain": {}, "ours": {"domain_transfer": ["domain", "general"]}}}, id="own names"),
        pytest.param(PROBE | {f"{TWICE}.dropout": 0.2}, id="the same steps with other values"),
        pytest.param(
            {
                "arms": {
                    "ours": {"domain_transfer": "domain", "tasks": ["section"]},
                    "theirs": {"domain_transfer": "domain", "tasks": ["mention"]},
                }
            },
            id="the same steps for different tasks",
        ),
        pytest.param({"bases.small": "models/init/small"}, id="a folder that DVC watches"),
        pytest.param(
            {"bases.small": "hfl/rbt3", "tokenize.max_length": 5000, **{f"{step}.block_size": 5000 for step in STEPS}},
            id="a checkpoint has its own positions",
        ),
        pytest.param(
            {"compare.questions": {"both": ["domain_task", "general"]}, "compare.order": ["both", "domain_text"]},
            id="questions of one's own",
        ),
        pytest.param(arms(news=BOTH) | {"compare.order": ["domain_text/news"]}, id="the question of an own arm"),
        pytest.param({"corpora.titles": {**CORPUS, "columns": {"text": "title"}}}, id="two columns of a file"),
        pytest.param(DOMAIN_ALONE | {"bases.small": "hfl/rbt3"}, id="no general text"),
        pytest.param(NO_CORPUS | {"bases.small": "hfl/rbt3"}, id="no corpus"),
        pytest.param(
            DOMAIN_ALONE | {"arms": ["scratch", {"raw": {"pretrain": "none", "domain_transfer": "domain"}}]},
            id="random weights that nothing trains in general",
        ),
        pytest.param(
            {
                "corpora.more": CORPUS,
                "arms": ["domain", {"more": {"domain_transfer": "more"}}],
                "overrides.more": {"domain_transfer": {"causal_share": 0.9}},
            },
            id="one text, trained on in two ways",
        ),
    ],
)
def test_allowed(changes: dict[str, Any]) -> None:
    assert errors(**changes) == []


# What is wrong: changes to the demonstration, the code, the place, and words of its message.
REFUSED: list[tuple[dict[str, Any], int, str, str]] = [
    # ---- what there is
    ({"tasks": {}}, 99, "tasks", "no task, so nothing to compare\n  add a labelled set: `adaptbert add-task --train"),
    ({"arms": {"general": {"bases": ["other"]}}}, 111, "arms", "no task has an arm from any base"),
    ({"corpora.more": CORPUS}, 111, "corpora.more.path", "data/demo/domain.jsonl is also the corpus domain\n  name an"),
    ({"corpora.general.path": "./data/demo/domain.jsonl"}, 111, "corpora.domain.path", "is also the corpus general"),
    *(
        ({key: "https://a:secret@c.org/d.csv?sig=secret"}, 109, key, "an address, not a file\n  download it")
        for key in ("corpora.domain.path", "tasks.section.dev", "tokenize.words.dictionary")
    ),
    # ---- what needs general text, where there is none
    (
        {"corpora.general": REMOVED, "arms": ["scratch", "domain"]},
        99, "corpora", "weights of small on, as arm domain needs\n  add text as `corpora.general`, or take a base with",
    ),
    (NO_CORPUS, 99, "corpora", "no corpus 'general' to train the random weights of small on, as arm general needs"),
    (NO_CORPUS | {"arms": ["scratch"]}, 99, "tokenizer.corpora", "no corpus for the vocabulary of small"),
    (DOMAIN_ALONE | {"arms": ["scratch"], "pretrain": {"tokens": 9}}, 111, "pretrain.tokens", "no corpus 'general' to"),
    (
        DOMAIN_ALONE | {"bases.small": "hfl/rbt3", "overrides.small.pretrain.head_warmup_steps": 300},
        111, "overrides.small.pretrain.head_warmup_steps", "or write it into the step that is trained first",
    ),
    (
        DOMAIN_ALONE | {"bases.small": "hfl/rbt3", "domain_transfer.replay_fraction": 0.1},
        111, "domain_transfer.replay_fraction", "replay_fraction is 0.1, and there is no corpus 'general' to",
    ),
    (
        DOMAIN_ALONE | {"bases.small": "hfl/rbt3", "arms": ["general", "general_long"]},
        99, "arms.general_long.domain_transfer", "'general' is not in corpora\n  known: domain",
    ),
    # ---- names
    (arms(differences=BOTH), 112, "arms.differences", "is a section of metrics/metrics.json"),
    (arms(majority=BOTH), 112, "arms.majority", "is a baseline"),
    ({"tasks.small": SECTION}, 112, "tasks.small", "is also a name in bases"),
    ({"bases.domain": SMALL, "arms": ["general"]}, 112, "corpora.domain", "is also a name in bases"),
    (arms(small=BOTH), 112, "arms.small", "is also a name in bases"),
    (arms(section=BOTH), 112, "arms.section", "is also a name in tasks"),
    ({"corpora.section": {"path": "other.txt"}}, 112, "tasks.section", "is also a name in corpora"),
    (arms(far={"domain_transfer": "domian"}), 99, "arms.far.domain_transfer", "(did you mean 'domain'?)\n  known: gen"),
    (arms(far={**BOTH, "tasks": ["sectoin"]}), 99, "arms.far.tasks", "'sectoin' is not in tasks"),
    (arms(far={**BOTH, "bases": ["smal"]}), 99, "arms.far.bases", "'smal' is not in bases"),
    (
        {"tokenizer.extend": {"corpora": ["posts"], "num_new_tokens": 9, "min_frequency": 2}},
        99, "tokenizer.extend.corpora", "'posts' is not in corpora\n  known: general, domain",
    ),
    ({"overrides.small.tokenizer.corpora": ["mention"]}, 99, "overrides.small.tokenizer.corpora", "not in corpora"),
    # ---- arms
    ({"arms": {"domain": {}}}, 111, "arms.domain", "write {domain_transfer: <corpus>}, or call it general"),
    ({"arms": {"general": {"domain_transfer": "general"}}}, 111, "arms.general", "write {}, or call it general_long"),
    ({"arms": {"domain": {"pretrain": "none", **BOTH}}}, 111, "arms.domain", "or call it otherwise"),
    (PROBE, 111, "arms.probe", "trained on what general is trained on: the same cell twice"),
    (PROBE | {TWICE: {}}, 111, "arms.probe", "the same cell twice"),
    (PROBE | {f"{TWICE}.dropout": 0.1}, 111, "arms.probe", "the same cell twice"),
    (
        PROBE | {f"{TWICE}.epochs": 3, "overrides.general.finetune.epochs": 3},
        111, "arms.probe", "or write other values in overrides.probe.finetune",
    ),
    *(
        ({f"overrides.{name}.finetune.{key}": value}, 111, f"overrides.{name}.finetune.{key}", kind)
        for name, kind in (("domain_task", "arms of a task"), ("small", "bases of a task"))
        for key, value in (("labels", 50), ("seeds", [7, 8, 9]), ("label_counts", [50, 100]))
    ),
    # ---- bases
    *(
        ({"bases.small": base}, 111, "bases.small", f"`adaptbert import {base} --base small`")
        for base in ("/big/bert", "../bert", "~/bert", "models/other", "models/init/other", "a/b/c")
    ),
    ({"bases.small": "./a b; touch c"}, 111, "bases.small", "`adaptbert import './a b; touch c' --base small`"),
    # ---- values
    ({"tokenize.max_length": 1000}, 111, "tokenize.max_length", "max_length 1000 > bases.small.max_positions 512"),
    (
        {"overrides.mention.finetune": {"max_length": 1000, "block_size": 1000}},
        111, "overrides.mention.finetune.max_length", "max_length 1000 > bases.small.max_positions 512",
    ),
    (
        {"overrides.section.finetune": {"decoder": "crf", "long_text": "head"}},
        111, "overrides.section.finetune.decoder", "has no decoder\n  remove it; its options are long_text, stride",
    ),
    (
        {"overrides.mention.finetune.class_weights": "balanced"},
        111, "overrides.mention.finetune.class_weights", "only texts and pairs with labels have them",
    ),
    ({"finetune.stride": 127}, 111, "finetune.stride", "write a stride of at most 126"),
    (
        {"tasks.section": ANSWERS, "finetune.max_question": 125},
        111, "finetune.max_question", "write a max_question of at most 124",
    ),
    (
        {"tasks.section": {**FILES, "type": "text-pair-classification"}, "finetune.long_text": "windows"},
        111, "finetune.long_text", "write head or head_tail",
    ),
    # ---- questions
    ({"compare.order": ["domain_texts"]}, 99, "compare.order", "is no question (did you mean 'domain_text'?)"),
    ({"compare.order": ["domain_text/news"]}, 99, "compare.order", "'domain_text/news' is no question"),
    ({"compare.questions": {"both": ["task", "generall"]}}, 99, "compare.questions.both", "(did you mean 'general'?)"),
    ({"compare.questions": {"recipe": ["task", "general"]}}, 112, "compare.questions.recipe", "is a question already"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "code", "place", "words"), REFUSED, ids=lambda each: str(each)[:60])
def test_refused(changes: dict[str, Any], code: int, place: str, words: str) -> None:
    assert found(**changes) == [(code, place)]
    assert words in errors(**changes)[0]


def test_each_base_is_held_against_its_own_values() -> None:
    two = {"bases.tiny": {**SMALL, "max_positions": 64}}
    assert found(**two) == [(111, "tokenize.max_length"), (111, "finetune.max_length")]
    lengths = {section: {"max_length": 64} for section in ("tokenize", "finetune")}
    assert errors(**two, **{"overrides.tiny": lengths}) == []


def test_documents_fit_into_the_rows_of_each_step() -> None:
    long = {"tokenize.max_length": 256}
    assert found(**long) == [(111, f"{step}.block_size") for step in STEPS]
    assert (
        "documents of small have up to 256 tokens (tokenize.max_length)\n  write block_size: 256" in errors(**long)[0]
    )
    assert errors(**long, **{f"{step}.block_size": 256 for step in STEPS}) == []


# --- notices

OTHERWISE, TWO_BASES = {"overrides.scratch.finetune.epochs": 1}, {"bases.other": SMALL}
HIGH = {"pretrain": {"learning_rate": 1e-3}, "domain_transfer": {}, "task_transfer.learning_rate": 2e-4}
PUBLIC = {"bases.small": "hfl/rbt3", "bases.public": "hfl/rbt3", "overrides.mention.finetune.learning_rate": 4e-4}
FEW = "fewer than 3 give no interval and no verdict; write seeds: 3"
ALONE = "on section, no question compares this arm with another"
TWO_TEXTS = {
    "corpora.news": {"path": "news.txt"},
    "arms": {
        arm: {"domain_transfer": text, "tasks": ["section"]} for arm, text in (("domain",) * 2, ("other", "news"))
    },
}
NO_VERDICT = "no task has the arms for recipe or domain_transfer or task_transfer or domain_text, so there will be no"
NOTICES: list[tuple[dict[str, Any], str, list[str]]] = [
    # seeds, in one line
    (
        {f"overrides.{task}.finetune.seeds": 2 for task in ("section", "mention")},
        "", [f"finetune: seeds: section has 2, mention has 2: {FEW}"],
    ),
    (
        {"overrides.section.finetune.seeds": 3, "overrides.mention.finetune.seeds": 1},
        "", [f"finetune: seeds: mention has 1: {FEW}"],
    ),
    # arms that no question compares, once for all bases
    (
        {"arms": {"domain": {"domain_transfer": "domain", "tasks": ["section"]}}} | TWO_BASES,
        "arms.", [f"arms.domain: {ALONE}; to measure domain_transfer, add the arm general: {{}}"],
    ),
    # nor arms that a question of params.yaml compares
    (TWO_TEXTS, "arms.", [f"arms.{arm}: {ALONE}" for arm in ("domain", "other")]),
    (TWO_TEXTS | {"compare.questions": {"mine": ["other", "domain"]}}, "arms.", []),
    # fine-tuned otherwise: not beside an arm of the same steps, whose variant it is, nor where bases are compared
    (
        OTHERWISE,
        "overrides.scratch",
        [
            f"overrides.scratch.finetune: on {task}, no step compares an arm that is fine-tuned otherwise; write these "
            f"values into finetune or overrides.{task}, for all arms"
            for task in ("section", "mention")
        ],
    ),
    (OTHERWISE, "add the arm scratch", []),
    (OTHERWISE | TWO_BASES, "overrides.scratch", []),
    (arms(probe={}) | {"overrides.probe.finetune.epochs": 1}, "", []),
    # general pre-training that no arm begins with
    ({"arms": ["scratch"], "pretrain": {}}, "which this trains", []),
    (
        {"arms": ["scratch"]},
        "which this trains", ["pretrain.tokens: no arm begins with general pre-training of small, which this trains; "],
    ),
    ({"arms": ["scratch", "general"]}, "which this trains", []),
    # rates of random weights, of every step that is trained, where they stand; pretrain has no budget at first
    (
        HIGH | PUBLIC | {"pretrain.tokens": 0},
        "rate",
        [
            f"{place}: {rate} is for random weights, and {base} would forget what it has learned; usual: {usual}"
            for place, rate, usual in (
                ("task_transfer.learning_rate", "0.0002", "0.0001"),
                ("overrides.mention.finetune.learning_rate", "0.0004", "3e-05"),
            )
            for base in ("small", "public")
        ],
    ),
    (HIGH | {"pretrain.tokens": 9}, "rate", []),
    # no verdict
    ({}, "", []),
    ({"arms": ["general", "task"]}, "", []),
    ({"arms": ["scratch", "scratch_task"], "pretrain": {}}, "", []),
    ({"compare.replicates": 1}, "", ["compare.replicates: with 1 there is no verdict on a step"]),
    (
        {"arms": ["scratch", "general"]},
        "", [f"compare.order: {NO_VERDICT} verdict; questions that the arms answer: pretrain"],
    ),
    (
        arms(news=BOTH) | {"compare.order": ["recipe", "domain_transfer/domain"]},
        "", ["compare.order: no task has the arms for domain_transfer/domain, so there will be no verdict on that; "
             "questions that the arms answer: recipe, domain_transfer, domain_transfer/news, "],
    ),
    ({"compare.order": ["pretrain"]}, "", ["compare.order: pretrain cannot have a verdict here, because general"]),
    ({"arms": ["scratch", "domain"]}, "", ["compare.order: recipe cannot have a verdict here, because general"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "about", "expected"), NOTICES, ids=lambda each: str(each)[:60])
def test_notices(changes: dict[str, Any], about: str, expected: list[str]) -> None:
    assert errors(**changes) == []
    said = [line.removeprefix("params.yaml: ") for line in notices(**changes) if about in line]
    assert [line[: len(start)] for line, start in zip(said, expected, strict=True)] == expected


def test_pre_training_that_no_arm_begins_with_has_no_budget() -> None:
    assert recipe(arms=["scratch"], pretrain={}).values("pretrain", {"base": "small"}).tokens == 0
