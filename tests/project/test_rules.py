"""Rules between the sections of params.yaml: each broken on its own in a copy of the demo, and what is only worth a
notice."""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.questions import QUESTIONS
from adaptbert.config.plan import expand
from adaptbert.config.schema.section import RESERVED
from adaptbert.core.files import write_json
from tests.support.rules import DEMO, REMOVED, errors, notices, recipe

OF_NAMES = "names begin with a letter a-z and go on with a-z, 0-9 and _, 40 characters at most"
ARMS: dict[str, dict[str, Any]] = {
    "scratch": {"pretrain": "none"},
    "general": {},
    "general_long": {"domain_transfer": "general"},
    "domain": {"domain_transfer": "domain"},
    "task": {"task_transfer": "own"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}
"""Those of the demo, as a mapping."""
SMALL, SECTION, CORPUS = DEMO["bases"]["small"], DEMO["tasks"]["section"], DEMO["corpora"]["domain"]
FILES = {"train": "train.jsonl", "dev": "dev.jsonl", "test": "test.jsonl"}
ANSWERS = {**FILES, "type": "question-answering", "no_answer": True}
BOTH = {"domain_transfer": ["general", "domain"]}


def arms(**more: dict[str, Any]) -> dict[str, Any]:
    """The arms of the demo and others, or other ones of these names."""
    return {"arms": ARMS | more}


def test_the_demo_is_right() -> None:
    assert errors() == errors(**arms()) == notices() == []


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"arms": {"plain": {}, "ours": {"domain_transfer": ["domain", "general"]}}}, id="own names"),
        pytest.param(
            {"arms": {"general": {}, "probe": {}}, "overrides": {"probe": {"finetune": {"dropout": 0.2}}}},
            id="the same steps with other values",
        ),
        pytest.param(
            {
                "arms": {
                    name: {"domain_transfer": "domain", "tasks": [task]}
                    for name, task in (("ours", "section"), ("theirs", "mention"))
                }
            },
            id="the same steps for different tasks",
        ),
        pytest.param({"bases.small": "models/init/small"}, id="a folder that DVC watches"),
        pytest.param({"bases.small": {"checkpoint": "bert-base-chinese", "revision": "main"}}, id="a model of the hub"),
        pytest.param(
            {"bases.small": "hfl/rbt3", "tokenize.max_length": 5000}, id="a checkpoint brings its own positions"
        ),
        pytest.param(arms(repeated={"again": "domain"}), id="an arm once more"),
        pytest.param(
            arms(domain={"domain_transfer": "domain", "tasks": ["mention"]}, repeated={"again": "domain"}),
            id="an arm once more, where the first is",
        ),
        pytest.param(
            {
                "compare.questions": {"both": ["domain_task", "general"]},
                "compare.primary": ["both", "domain_text"],
            },
            id="questions of one's own",
        ),
        pytest.param(
            arms(news=BOTH) | {"compare.primary": ["domain_text/news"]}, id="the question of an arm of one's own"
        ),
    ],
)
def test_allowed(changes: dict[str, Any]) -> None:
    assert errors(**changes) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # ---- what there is
        pytest.param(
            {"tasks": {}},
            "AB-099 params.yaml: tasks: no task, so nothing to compare\n  add a labelled set: `adaptbert add-task "
            "FILE...`",
            id="there is a task",
        ),
        pytest.param(
            {"arms": {"general": {"tasks": ["mention"], "bases": ["other"]}}, "bases": {"small": SMALL}},
            "AB-111 params.yaml: arms: no task has an arm from any base, so nothing to compare\n  name a task and a "
            "base in an arm, or leave out its lists `tasks` and `bases`",
            id="there is a cell",
        ),
        pytest.param(
            {"arms": {}},
            "AB-099 params.yaml: arms: empty, so nothing to compare\n  leave it out: all that the text allows",
            id="there is an arm",
        ),
        pytest.param(
            {"bases": {}},
            "AB-111 params.yaml: neither base nor bases\n  write one of them, e.g. `base: "
            "google-bert/bert-base-uncased`",
            id="there is a base",
        ),
        pytest.param(
            {"base": "hfl/rbt3"},
            "AB-111 params.yaml: base and bases\n  write one of them, e.g. `base: google-bert/bert-base-uncased`",
            id="base or bases",
        ),
        pytest.param(
            {"corpora.general": REMOVED, "arms": ["domain"]},
            "AB-099 params.yaml: corpora: no corpus 'general'\n  name the text that pretrain is trained on so",
            id="there is general text",
        ),
        # ---- names
        *(
            pytest.param(
                arms(**{arm: BOTH}),
                f"AB-112 params.yaml: arms.{arm}: '{arm}' is {what}\n  give the arm another name",
                id=f"an arm '{arm}' would hide another",
            )
            for arm, what in (
                ("steps", "a section of metrics/metrics.json"),
                ("majority", "a baseline"),
                ("tfidf_logistic", "a baseline"),
            )
        ),
        *(
            pytest.param(
                changes,
                f"AB-112 params.yaml: {place}: '{place.rpartition('.')[2]}' is also a name in {other}\n  give one of "
                "them another name",
                id=f"a name means one thing: {place}, {other}",
            )
            for changes, place, other in (
                ({"tasks.small": SECTION}, "tasks.small", "bases"),
                ({"bases.domain": SMALL, "arms": ["general"]}, "corpora.domain", "bases"),
                (arms(small=BOTH), "arms.small", "bases"),
                (arms(section=BOTH), "arms.section", "tasks"),
                ({"corpora.section": CORPUS}, "tasks.section", "corpora"),
            )
        ),
        pytest.param(
            arms(far={"domain_transfer": "domian"}),
            "AB-099 params.yaml: arms.far.domain_transfer: 'domian' is not in corpora (did you mean 'domain'?)\n  "
            "known: general, domain",
            id="a corpus exists",
        ),
        pytest.param(
            arms(far={**BOTH, "tasks": ["sectoin"]}),
            "AB-099 params.yaml: arms.far.tasks: 'sectoin' is not in tasks (did you mean 'section'?)\n  known: "
            "section, mention",
            id="a task of an arm exists",
        ),
        pytest.param(
            arms(far={**BOTH, "bases": ["smal"]}),
            "AB-099 params.yaml: arms.far.bases: 'smal' is not in bases (did you mean 'small'?)\n  known: small",
            id="a base of an arm exists",
        ),
        pytest.param(
            {"tokenizer.extend": {"corpora": ["posts"], "num_new_tokens": 9, "min_frequency": 2}},
            "AB-099 params.yaml: tokenizer.extend.corpora: 'posts' is not in corpora\n  known: general, domain",
            id="a corpus of further words exists",
        ),
        pytest.param(
            {"overrides.small.tokenizer.corpora": ["general", "mention"]},
            "AB-099 params.yaml: overrides.small.tokenizer.corpora: 'mention' is a labelled set, and a vocabulary is "
            "trained on corpora\n  put its text into a corpus, and name that",
            id="a vocabulary is not trained on a labelled set",
        ),
        # ---- arms
        pytest.param(
            {"arms": ["general", "domian"]},
            "AB-099 params.yaml: arms: 'domian' is none of the arms that a list can name\n  known: scratch, general, "
            "general_long, domain, task, domain_task, scratch_task, general_long_task; write a mapping for others: "
            "{domian: {domain_transfer: CORPUS}}",
            id="a list names known arms",
        ),
        pytest.param(
            {"arms": {"domain": {}}},
            "AB-111 params.yaml: arms.domain: an arm 'domain' is {domain_transfer: <corpus>}, and this one is not\n  "
            "write {domain_transfer: <corpus>}, or call it general",
            id="domain transfer is not pre-training under another name",
        ),
        pytest.param(
            {"arms": {"general": {"domain_transfer": "general"}}},
            "AB-111 params.yaml: arms.general: an arm 'general' is {}, and this one is not\n  write {}, or call it "
            "general_long",
            id="the control is not the arm below it",
        ),
        pytest.param(
            {"arms": {"domain": {"pretrain": "none", "domain_transfer": "domain"}}},
            "AB-111 params.yaml: arms.domain: an arm 'domain' is {domain_transfer: <corpus>}, and this one is not\n  "
            "write {domain_transfer: <corpus>}, or call it otherwise",
            id="steps without a role",
        ),
        *(
            pytest.param(
                {"arms": {"general": {}, "probe": {}}, "overrides": overrides},
                "AB-111 params.yaml: arms.probe: trained on what general is trained on: the same cell twice\n  remove "
                "one, train it on something else, or write other values in overrides.probe.finetune",
                id=f"two arms with the same steps: {what}",
            )
            for what, overrides in {
                "no overrides": {},
                "an empty one": {"probe": {"finetune": {}}},
                "equal ones": {
                    "probe": {"finetune": {"dropout": 0.2, "epochs": 3}},
                    "general": {"finetune": {"epochs": 3, "dropout": 0.2}},
                },
                "defaults": {"probe": {"finetune": {"dropout": 0.1}}},
            }.items()
        ),
        *(
            pytest.param(
                arms(repeated={"again": "domain"}) | {f"overrides.{name}.finetune.epochs": 9},
                f"AB-111 params.yaml: overrides.{name}.finetune: 'repeated' repeats 'domain', so both are fine-tuned "
                "with the values of all\n  remove it, or arms.repeated",
                id=f"an arm once more is fine-tuned as the first: {name}",
            )
            for name in ("domain", "repeated")
        ),
        pytest.param(
            arms(
                domain={"domain_transfer": "domain", "tasks": ["mention"]},
                repeated={"again": "domain", "tasks": ["mention", "section"]},
            ),
            "AB-111 params.yaml: arms.repeated: 'repeated' repeats 'domain', and the task section has no 'domain' from "
            "the same bases\n  leave section out of arms.repeated.tasks, or give the task section the arm domain as "
            "well",
            id="an arm once more is on no task without the first",
        ),
        pytest.param(
            arms(more={**BOTH, "tasks": []}),
            "AB-111 params.yaml: arms.more.tasks: empty, so that 'more' is nowhere\n  leave it out: all",
            id="an arm is somewhere",
        ),
        pytest.param(
            arms(one={"again": "domain"}, two={"again": "domain"}),
            "AB-111 params.yaml: arms.two: trained on what one is trained on: the same cell twice\n  remove one, train "
            "it on something else, or write other values in overrides.two.finetune",
            id="an arm is repeated by one",
        ),
        *(
            pytest.param(
                {f"overrides.{name}.finetune.{key}": value},
                f"AB-111 params.yaml: overrides.{name}.finetune.{key}: {kind} of a task are compared on the same {key}"
                "\n  write it into finetune, or under the name of a task",
                id=f"{key} of {kind}",
            )
            for name, kind in (("domain_task", "arms"), ("small", "bases"))
            for key, value in (("labels", 50), ("seeds", [7, 8, 9]), ("label_counts", [50, 100]))
        ),
        # ---- bases
        pytest.param(
            {"bases.small": {"checkpoint": "models/init/small", "revision": "main"}},
            "AB-111 params.yaml: bases.small: checkpoint is models/init/small and revision is given\n  take it out: it "
            "is of a model on the hub",
            id="a folder has no revision",
        ),
        pytest.param(
            {"bases.small": {**SMALL, "checkpoint": "hfl/rbt3"}},
            "AB-111 params.yaml: bases.small: checkpoint is hfl/rbt3 and sizes are given\n  take the sizes out: a "
            "checkpoint brings its own",
            id="a checkpoint brings its sizes",
        ),
        pytest.param(
            {"bases.small.layers": REMOVED},
            "AB-111 params.yaml: bases.small: neither a checkpoint nor all sizes\n  name a checkpoint, or write "
            "{layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512}",
            id="all sizes",
        ),
        *(
            pytest.param(
                {"bases.small": base},
                f"AB-111 params.yaml: bases.small: checkpoint is {base}, a path that DVC does not watch\n  write "
                f"models/init/small, and run `adaptbert import {quoted or base} --base small`, or copy it there",
                id=f"a path that nobody watches: {base}",
            )
            for base, quoted in (
                *((path, None) for path in ("/big/bert", "../bert", "~/bert", "models/other", "models/init/other")),
                ("./a b; touch c", "'./a b; touch c'"),
                ("a/b/c", None),
            )
        ),
        # ---- values
        *(
            pytest.param(
                changes,
                f"AB-111 params.yaml: {place}: max_length 1000 > bases.small.max_positions 512\n  write at most 512, "
                "or raise max_positions",
                id=f"{place} fits the encoder",
            )
            for place, changes in {
                "tokenize.max_length": {"tokenize.max_length": 1000},
                "overrides.mention.finetune.max_length": {
                    "overrides.mention.finetune": {"max_length": 1000, "block_size": 1000}
                },
            }.items()
        ),
        pytest.param(
            {"overrides.section.finetune": {"decoder": "crf", "long_text": "head"}},
            "AB-111 params.yaml: overrides.section.finetune.decoder: type 'text-classification' has no decoder\n  "
            "remove it; its options are long_text, stride",
            id="an option of another type",
        ),
        pytest.param(
            {"overrides.mention.finetune.class_weights": "balanced"},
            "AB-111 params.yaml: overrides.mention.finetune.class_weights: class_weights and type "
            "'token-classification': only texts and pairs with labels have them\n  change one of them",
            id="spans have no weights of classes",
        ),
        pytest.param(
            {"finetune.stride": 127},
            "AB-111 params.yaml: finetune.stride: stride 127 leaves out tokens: max_length 128 holds two less\n  write "
            "a stride of at most 126",
            id="a large stride",
        ),
        pytest.param(
            {"tasks.section": ANSWERS, "finetune.max_question": 125},
            "AB-111 params.yaml: finetune.max_question: max_question 125 leaves no room for the context in max_length "
            "128\n  write a max_question of at most 124, better a quarter of that",
            id="a question that leaves no room",
        ),
        pytest.param(
            {"tasks.section": {**FILES, "type": "text-pair-classification"}, "finetune.long_text": "windows"},
            "AB-111 params.yaml: finetune.long_text: long_text 'windows' and a pair of texts\n  write head or "
            "head_tail",
            id="pairs have no windows",
        ),
        pytest.param(
            {"tasks.section": {**FILES, "type": "regression"}, "overrides.section.finetune.class_weights": "balanced"},
            "AB-111 params.yaml: overrides.section.finetune.class_weights: class_weights and type 'regression': only "
            "texts and pairs with labels have them\n  change one of them",
            id="a number has no classes",
        ),
        # ---- questions
        *(
            pytest.param(
                {"compare.primary": [name]},
                f"AB-099 params.yaml: compare.primary: '{name}' is no question (did you mean 'domain_text'?)\n  write "
                f"one of {', '.join(QUESTIONS)}",
                id=f"no question {name}",
            )
            for name in ("domain_texts", "domain_text/news")
        ),
        pytest.param(
            {"compare.questions": {"both": ["domain_task", "generall"]}},
            "AB-099 params.yaml: compare.questions.both: 'generall' is no arm (did you mean 'general'?)\n  name two of "
            "the arms",
            id="a question is of two arms",
        ),
        *(
            pytest.param(
                {"compare.questions": {name: ["domain_task", "general"]}},
                f"AB-112 params.yaml: compare.questions.{name}: '{name}' is a question already\n  give this one "
                "another name",
                id=f"a question {name} is there",
            )
            for name in ("climb", "domain_text")
        ),
    ],
)
def test_refused(changes: dict[str, Any], expected: str) -> None:
    assert errors(**changes) == [expected]


@pytest.mark.parametrize(
    ("name", "offered"),
    [("my arm", "my_arm"), ("a/b", "a_b"), ("-x", "x"), ("v1.5", "v1_5"), ("ｍ　ａ", "m_a"), ("My-Arm", "my_arm"),
     ("我的", ""), ("x" * 101, ""), ("!", ""), ("1st", ""), ("../escape", "escape"),
     *((name, None) for name in RESERVED)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["arms", "bases", "corpora", "tasks"])
def test_a_name_has_certain_characters(kind: str, name: str, offered: str | None) -> None:
    """And one like it is offered."""
    entries = ARMS if kind == "arms" else DEMO[kind]
    (line,) = errors(**{kind: {**entries, name: next(iter(entries.values()))}})
    shown = name if len(name) < 80 else f"{'x' * 80}... (101 characters)"
    problem = f"'{shown}' cannot be the name of a stage\n  {f'call it {offered}: ' if offered else ''}{OF_NAMES}"
    if offered is None:
        problem = f"'{name}' is a word of the schema or of YAML\n  give it another name"
    assert line == f"AB-112 params.yaml: {kind}.{shown}: {problem}"


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_key_of_a_checkpoint_fits_into_the_name_of_a_file(tmp_path: Path, is_allowed: bool) -> None:
    names = [letter * 38 for letter in "abcd"] + ["e" * (36 if is_allowed else 37)]
    changes: dict[str, Any] = {f"corpora.{name}": CORPUS for name in names}
    changes["arms"] = {"general": {}, "many": {"domain_transfer": names}, "fewer": {"domain_transfer": names[1:]}}
    key = "-".join([*names, "small", "1"])
    refusal = (
        "AB-112 params.yaml: arms.many.domain_transfer: its longest key has 201 characters, more than 200: "
        f"{key[:80]}... (201 characters)\n  give the corpora shorter names, or name fewer in the list"
    )
    assert errors(**changes) == ([] if is_allowed else [refusal])
    assert key in expand(recipe(**changes)).domain_transfer
    write_json(tmp_path / f"{key}.parquet", {})  # whose temporary name is longer


def test_each_base_is_held_against_its_own_values() -> None:
    two = {"bases.tiny": {**SMALL, "max_positions": 64}}
    assert [line.partition(": max_length")[0] for line in errors(**two)] == [
        "AB-111 params.yaml: tokenize.max_length",
        "AB-111 params.yaml: finetune.max_length",
    ]
    lengths = {section: {"max_length": 64} for section in ("tokenize", "finetune")}
    assert errors(**two, **{"overrides.tiny": lengths}) == []


def test_all_are_reported_together() -> None:
    """Values by themselves first; only then what contradicts others."""
    further = {"tokenizer.corpora": ["x"], "tokenize.max_length": 5000, "compare.primary": ["x"]}
    assert [line.split()[0] for line in errors(**further)] == ["AB-099", "AB-111", "AB-099"]
    wrong = {"pretrain.block_size": "big", "finetune.epochs": "few", "overrides.x": {}, "corpora.general": REMOVED}
    assert [line.split(": ")[1] for line in errors(**further, **wrong)] == [
        "pretrain.block_size",
        "finetune.epochs",
        "overrides.x",
        "corpora",
    ]


# --- notices


@pytest.mark.parametrize(("counts", "few"), [((2, 2), "section has 2, mention has 2"), ((3, 1), "mention has 1")])
def test_too_few_seeds_are_reported_in_one_line(counts: tuple[int, int], few: str) -> None:
    seeds = dict(zip(("section", "mention"), counts, strict=True))
    assert notices(**{f"overrides.{task}.finetune.seeds": count for task, count in seeds.items()}) == [
        f"params.yaml: finetune: seeds: {few}: of fewer than 3 no interval and no verdict can be given; write seeds: 3"
    ]


def test_arms_that_no_step_compares_are_a_notice() -> None:
    """Once for all bases."""
    alone: dict[str, Any] = {"arms": {"domain": {"domain_transfer": "domain", "tasks": ["section"]}}}
    twice = {"bases.other": SMALL}
    assert errors(**alone, **twice) == []
    assert notices(**alone, **twice)[:-1] == [
        "params.yaml: arms.domain: on section, no step compares this arm with another. To measure domain transfer, add "
        "the arm `general: {}` to compare with domain."
    ]


def test_an_arm_that_is_fine_tuned_otherwise_is_a_notice() -> None:
    """Not beside an arm of the same steps, whose variant it is, and not where it is compared between bases."""
    otherwise = {"overrides.scratch.finetune.epochs": 1}
    assert errors(**otherwise) == []
    assert [line for line in notices(**otherwise) if "overrides.scratch" in line] == [
        f"params.yaml: overrides.scratch.finetune: on {task}, no step compares an arm that is fine-tuned otherwise; "
        f"write these values into finetune or overrides.{task}, for all arms"
        for task in ("section", "mention")
    ]
    assert not [line for line in notices(**otherwise) if "add the arm `scratch:" in line], "it is there"
    assert notices(**arms(probe={}), **{"overrides.probe.finetune.epochs": 1}) == []
    assert [line for line in notices(**otherwise, **{"bases.other": SMALL}) if "overrides.scratch" in line] == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"compare.replicates": 1},
            "compare.replicates: with 1 there is no verdict on a step, only a description of these weights; write 2 or "
            "more",
        ),
        (
            {"arms": ["general", "task"]},
            "compare.primary: no task has the arms for domain_text or task_transfer_after_domain, so there will be no "
            "verdict; questions that the arms answer: task_transfer",
        ),
        (
            {"compare.primary": ["task_transfer_from_scratch"]},
            "compare.primary: no task has the arms for task_transfer_from_scratch, so there will be no verdict; "
            "questions that the arms answer: pretrain, more_training",
        ),
        (
            {"compare.primary": ["pretrain"]},
            "compare.primary: pretrain cannot have a verdict, because general pre-training is done once for each base, "
            "whatever replicates says; its interval is of these weights",
        ),
    ],
)
def test_a_question_without_a_verdict_is_a_notice(changes: dict[str, Any], expected: str) -> None:
    (notice,) = notices(**changes)
    assert notice.startswith(f"params.yaml: {expected}")


def test_questions_with_a_verdict_are_none() -> None:
    assert notices(arms=["general", "task"], **{"compare.primary": ["task_transfer"]}) == []
