"""Rules between the sections: each broken on its own in a copy of the demo."""

import copy
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BAD_PARAMS, UserError
from adaptbert.project.section_rules import check, notices
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params import strict_yaml
from stages.finetune import FinetuneParams
from tests.support.imports import ROOT
from tests.support.messages import messages_in

FILE = Path("params.yaml")
TAPT_OF_MENTION = "task_transfer/mention-domain"
DEMO = params.read(ROOT / "presets/demo.yaml")


def errors(**changes: Any) -> list[str]:
    """The errors when the values at these dotted keys (`__` for a dot) are others; None takes a key away."""
    document = copy.deepcopy(DEMO)
    for key, value in changes.items():
        *path, last = key.split("__")
        here = document
        for part in path:
            here = here[part]
        if value is None:
            del here[last]
        else:
            here[last] = value
    try:
        check(document, FILE)
    except UserError as error:
        return [f"{line} ({error.exit_code})" for line in messages_in(str(error))]
    return []


def test_the_demo_is_consistent() -> None:
    assert errors() == []


@pytest.mark.parametrize("name", ["bits_per_char", "training", "suite", "inspection"])
def test_a_task_cannot_hide_a_section_of_the_metrics(name: str) -> None:
    task = {name: DEMO["collect_task"]["section"]}
    assert errors(collect_task={**DEMO["collect_task"], **task}) == [
        f"AB-112 params.yaml: collect_task.{name}: '{name}' is a section of metrics/comparison.json\n  give the task "
        "another name (78)"
    ]


@pytest.mark.parametrize(
    ("arm", "what"),
    [("steps", "a section of metrics/comparison.json"), ("majority", "a baseline"), ("tfidf_logistic", "a baseline")],
)
def test_an_arm_cannot_hide_a_baseline(arm: str, what: str) -> None:
    assert errors(ladder__finetune=only(**{arm: "pretrain"})) == [
        f"AB-112 params.yaml: ladder.finetune.section-{arm}.arm: '{arm}' is {what}\n  give the arm another name (78)"
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"ladder__finetune": {"section-domain": {"task": "section", "arm": "general", "from": "pretrain"}}},
            [
                "AB-111 params.yaml: ladder.finetune.section-domain: this key does not fit its values, task 'section' "
                "and arm 'general'\n  call it section-general"
            ],
            id="a cell is named after its task and arm",
        ),
        pytest.param(
            {"ladder__finetune": {"section-x": {"task": "section", "arm": "x", "from": "domain_transfer/domian"}}},
            [
                "AB-099 params.yaml: ladder.finetune.section-x.from: 'domain_transfer/domian' is not in the rungs of "
                "the ladder (did you mean 'domain_transfer/domain'?)\n  known: scratch, pretrain, "
                "domain_transfer/domain, domain_transfer/general, task_transfer/section-general, "
                "task_transfer/section-domain, task_transfer/mention-general, task_transfer/mention-domain"
            ],
            id="a cell starts from a rung",
        ),
        pytest.param(
            {"ladder__finetune": {"section-x": {"task": "section", "arm": "x", "from": TAPT_OF_MENTION}}},
            [
                "AB-111 params.yaml: ladder.finetune.section-x: task 'section', but from "
                "'task_transfer/mention-domain', which is trained on the text of 'mention'\n  "
                "start from a rung of the same task"
            ],
            id="a cell starts from its own task",
        ),
        pytest.param(
            {"ladder__finetune": {"sectoin-x": {"task": "sectoin", "arm": "x", "from": "pretrain"}}},
            [
                "AB-099 params.yaml: ladder.finetune.sectoin-x.task: 'sectoin' is not in collect_task nor in finetune "
                "(did you mean 'section'?)\n  known: section, mention",
            ],
            id="a cell's task exists",
        ),
        pytest.param(
            {"ladder__task_transfer__general": {"task": "section", "from": "pretrain"}},
            [
                "AB-111 params.yaml: ladder.task_transfer.general: this key does not fit its values, task 'section'\n  "
                "call it section-<from>"
            ],
            id="a task rung is named after its task",
        ),
        pytest.param(
            {"ladder__task_transfer": {"section-general": {"task": "section", "from": "task_transfer/section-domain"}},
             "ladder__finetune": {}},
            [
                "AB-099 params.yaml: ladder.task_transfer.section-general.from: 'task_transfer/section-domain' is not "
                "in the rungs below\n  known: scratch, pretrain, "
                "domain_transfer/domain, domain_transfer/general"
            ],
            id="a task rung starts from a rung below",
        ),
        pytest.param(
            {"collect_task__section__shape": "sentence_pair"},
            [
                "AB-111 params.yaml: finetune.section: options of single_sentence, but the task's shape is "
                "sentence_pair\n  write `sentence_pair: {long_text: head}` in their place"
            ],
            id="options belong to the shape of the task",
        ),
        pytest.param(
            {"collect_task__mention__target": "tags"},
            [
                "AB-111 params.yaml: finetune.mention: target 'tags' and tag_scheme 'bio': spans need one, tags take "
                "none\n  take tag_scheme out of sequence_labelling"
            ],
            id="a tag scheme belongs to spans",
        ),
        pytest.param(
            {"ladder__domain_transfer": ["domain", "general", "far"]},
            [
                "AB-099 params.yaml: ladder.domain_transfer: 'far' is not in collect\n  known: domain, general"
            ],
            id="a corpus to transfer to exists",
        ),
        pytest.param(
            {"ladder__domain_transfer": ["domain", "general", "domain"]},
            ["AB-111 params.yaml: ladder.domain_transfer: 'domain' twice\n  name each corpus once"],
            id="a corpus is named once",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "domains"]},
            [
                "AB-099 params.yaml: tokenizer.corpora: 'domains' is not in collect (did you mean 'domain'?)\n  "
                "known: domain, general"
            ],
            id="a corpus of the vocabulary exists",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "mention"]},
            [
                "AB-099 params.yaml: tokenizer.corpora: 'mention' is a labelled set, and a vocabulary is trained on "
                "corpora\n  put its text into a corpus of collect, and name that"
            ],
            id="a vocabulary is not trained on a labelled set",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "ner"]},
            ["AB-099 params.yaml: tokenizer.corpora: 'ner' is not in collect\n  known: domain, general"],
            id="an unlike name is not offered",
        ),
        pytest.param(
            {"collect__general": None, "tokenizer__corpora": ["domain"], "ladder__domain_transfer": ["domain"],
             "ladder__finetune__section-general_long": None, "ladder__finetune__mention-general_long": None},
            [
                "AB-099 params.yaml: collect: no corpus 'general'\n  name the text that pretrain is trained on so"
            ],
            id="there is general text",
        ),
        pytest.param(
            {"collect__../escape": {"source": "files", "path": "x"}},
            [
                "AB-112 params.yaml: collect.../escape: '../escape' cannot be the name of a stage\n  call it escape: "
                "names begin with a letter or digit and go on with letters, digits, _ and -, 100 bytes at most"
            ],
            id="a name is not a path",
        ),
        pytest.param(
            {"collect__news.2024": {"source": "files", "path": "x"}},
            [
                "AB-112 params.yaml: collect.news.2024: 'news.2024' cannot be the name of a stage\n  "
                "call it news_2024: "
                "names begin with a letter or digit and go on with letters, digits, _ and -, 100 bytes at most"
            ],
            id="to DVC a dot leads to a value",
        ),
        pytest.param(
            {"finetune__mention__max_length": 1000},
            [
                "AB-111 params.yaml: finetune.mention.max_length: max_length 1000 > pretrain.encoder.max_positions "
                "512\n  write at most 512, or raise max_positions"
            ],
            id="documents fit the encoder",
        ),
        pytest.param(
            {"pretrain__init": "models/init", "pretrain__encoder": None},
            [
                "AB-111 params.yaml: tokenizer.source: source train, but pretrain.init is models/init, which knows "
                "its own vocabulary only\n  write `init` for models/init, or the same name"
            ],
            id="weights and vocabulary belong together",
        ),
    ],
)  # fmt: skip
def test_refused(changes: dict[str, Any], expected: list[str]) -> None:
    assert errors(**changes) == [f"{line} ({BAD_PARAMS})" for line in expected]


def finetune(**rungs: str) -> dict[str, Any]:
    """The cells of the demo with these arms of `section` started from other rungs."""
    cells = {f"section-{arm}": {"task": "section", "arm": arm, "from": rung} for arm, rung in rungs.items()}
    return {**DEMO["ladder"]["finetune"], **cells}


def only(**rungs: str) -> dict[str, Any]:
    """The cells of `section` alone."""
    return {f"section-{arm}": {"task": "section", "arm": arm, "from": rung} for arm, rung in rungs.items()}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(
            only(domain="pretrain"),
            "AB-185 params.yaml: ladder.finetune.section-domain: arm 'domain' from 'pretrain', which is a rung of role "
            "'general'\n  call it section-general, arm general; or start it from domain_transfer/domain",
            id="domain transfer is not pre-training under another name",
        ),
        pytest.param(
            only(general="domain_transfer/general"),
            "AB-185 params.yaml: ladder.finetune.section-general: arm 'general' from 'domain_transfer/general', which "
            "is a rung of role 'general_long'\n  call it section-general_long, arm general_long; or start it from "
            "pretrain",
            id="the control is not the arm below it",
        ),
        pytest.param(
            only(general_long_task="task_transfer/section-domain"),
            "AB-185 params.yaml: ladder.finetune.section-general_long_task: arm 'general_long_task' from "
            "'task_transfer/section-domain', which is a rung of role 'domain_task'\n  call it section-domain_task, arm "
            "domain_task; or start it from task_transfer/<task>-<from> from domain_transfer/general, which the ladder "
            "lacks",
            id="where the ladder has no such rung, what it would be",
        ),
        pytest.param(
            finetune(domain="pretrain"),
            "AB-185 params.yaml: ladder.finetune.section-domain: arm 'domain' from 'pretrain', which is a rung of role "
            "'general'\n  remove it, for arm 'general' starts there; or start it from domain_transfer/domain",
            id="a role that another arm has",
        ),
        pytest.param(
            finetune(again="pretrain"),
            "AB-186 params.yaml: ladder.finetune.section-again: starts from 'pretrain' as section-general does: the "
            "same cell twice\n  remove one, or start it from another rung",
            id="two arms from one rung",
        ),
    ],
)
def test_an_arm_is_what_its_rung_is(cells: dict[str, Any], expected: str) -> None:
    assert errors(ladder__finetune=cells) == [f"{expected} ({BAD_PARAMS})"]


def test_an_arm_with_a_name_of_its_own_may_start_from_any_rung() -> None:
    assert errors(ladder__finetune=only(base="pretrain", ours="domain_transfer/domain")) == []


@pytest.mark.parametrize(("counts", "few"), [((2, 2), "section has 2, mention has 2"), ((3, 1), "mention has 1")])
def test_too_few_seeds_are_reported_in_one_line(counts: tuple[int, int], few: str) -> None:
    tasks = dict(zip(("section", "mention"), counts, strict=True))
    seeds = {task: {**DEMO["finetune"][task], "seeds": [*range(count)]} for task, count in tasks.items()}
    assert notices({**DEMO, "finetune": seeds}, FILE) == [
        f"params.yaml: finetune: seeds: {few}: of fewer than 3 no interval and no verdict can be given; "
        "write e.g. [1, 2, 3]"
    ]


def test_a_rung_that_only_the_ladder_lacks_is_added_or_its_arm_removed() -> None:
    where = "AB-099 params.yaml: ladder.finetune.section-x.from: 'domain_transfer/general' is not in the rungs of the"
    changes: dict[str, Any] = {"ladder__domain_transfer": ["domain"]}
    cells = {"section-x": {"task": "section", "arm": "x", "from": "domain_transfer/general"}}
    assert errors(**changes, ladder__task_transfer={}, ladder__finetune=cells) == [
        f"{where} ladder\n  add general to ladder.domain_transfer, or remove this arm (78)"
    ]
    rungs = {"section-general": {"task": "section", "from": "domain_transfer/general"}}
    assert errors(**changes, ladder__task_transfer=rungs, ladder__finetune={}) == [
        "AB-099 params.yaml: ladder.task_transfer.section-general.from: 'domain_transfer/general' is not in the rungs "
        "below\n  add general to ladder.domain_transfer, or remove this rung (78)"
    ]


def test_arms_that_no_step_compares_are_a_notice() -> None:
    assert notices(DEMO, FILE) == []
    cells = only(domain="domain_transfer/domain")
    document = {**DEMO, "ladder": {**DEMO["ladder"], "finetune": cells}}
    assert errors(ladder__finetune=cells) == []
    assert notices(document, FILE) == [
        "params.yaml: ladder.finetune.section-domain: no step compares this arm with another. To measure domain "
        "transfer, add an arm from `pretrain` (general) to compare with domain."
    ]


@pytest.mark.parametrize(
    ("shape", "target", "block"),
    [
        ("sentence_pair", "class", "sentence_pair: {long_text: head}"),
        ("extractive_answer", "answer", "extractive_answer: {max_question: 32, stride: 48, max_answer: 32}"),
        ("sequence_labelling", "spans", "sequence_labelling: {tag_scheme: bio, stride: 64}"),
        ("sequence_labelling", "tags", "sequence_labelling: {stride: 64}"),
    ],
)
@pytest.mark.parametrize("is_missing", [True, False])
def test_the_block_of_a_shape_can_be_pasted(shape: str, target: str, block: str, is_missing: bool) -> None:
    changes: dict[str, Any] = {"collect_task__section__shape": shape, "collect_task__section__target": target}
    old = "no shape" if is_missing else "single_sentence"
    place = "" if is_missing else " in their place"
    assert errors(**changes, **({"finetune__section__single_sentence": None} if is_missing else {})) == [
        f"AB-111 params.yaml: finetune.section: options of {old}, but the task's shape is {shape}\n  "
        f"write `{block}`{place} (78)"
    ]
    values = {**DEMO["finetune"]["section"], **strict_yaml.load(block, FILE)}
    del values["single_sentence"]
    assert errors(**changes, finetune__section=values) == []
    params.parse(FinetuneParams, values, "finetune.section", FILE)


def renamed(old: str, new: str, *sections: str) -> dict[str, Any]:
    return {
        section: {new if key == old else key: value for key, value in DEMO[section].items()} for section in sections
    }


@pytest.mark.parametrize(
    ("sections", "lacking", "other"),
    [
        (["collect_task"], "collect_task", "collect_task"),
        (["collect_task", "finetune"], "collect_task nor in finetune", "collect_task"),
        (["finetune"], "finetune", "finetune"),
    ],
)
def test_a_renamed_task_is_reported_once_with_both_names(sections: list[str], lacking: str, other: str) -> None:
    """`mention`, a task of its own, is not offered."""
    assert errors(**renamed("section", "chapter", *sections)) == [
        "AB-099 params.yaml: ladder.task_transfer.section-general.task: 'section' (and 7 more in the ladder) is not in "
        f"{lacking}\n  {other} has 'chapter', which the ladder has not: write one name in all three (78)"
    ]


@pytest.mark.parametrize(
    ("arm", "offered"),
    [("my arm", "my_arm"), ("a/b", "a_b"), ("-x", "x"), ("v1.5", "v1_5"), ("我 的", "我_的"), ("ｍ　ａ", "m_a"),
     ("x" * 101, ""), ("!", ""), ("taken!", ""), ("tfidf logistic", "")],
)  # fmt: skip
def test_the_name_of_an_arm_has_certain_characters(arm: str, offered: str) -> None:
    """And a name like its own, unless an arm or a control has it."""
    cell = {f"section-{arm}": {"task": "section", "arm": arm, "from": "pretrain"}}
    cell["section-taken"] = {"task": "section", "arm": "taken", "from": "scratch"}
    shown = arm if len(arm) < 80 else f"{'x' * 80}... (101 characters)"
    place = f"ladder.finetune.section-{arm}.arm"
    place = place if len(place) <= 80 else f"{place[:80]}... (129 characters)"
    call = f"call it {offered}: " if offered else ""
    assert errors(ladder__finetune=cell) == [
        f"AB-112 params.yaml: {place}: '{shown}' cannot be the name of a stage\n  {call}names begin with a letter or "
        "digit and go on with letters, digits, _ and -, 100 bytes at most (78)"
    ]


def test_a_checkpoint_brings_its_own_positions() -> None:
    """Their number is in its config, which is not read here."""
    own = {"pretrain__init": "models/init", "pretrain__encoder": None, "tokenizer__source": "init"}
    assert errors(**own, tokenize__max_length=5000) == []


def test_all_are_reported_together() -> None:
    messages = errors(tokenizer__corpora=["x"], tokenize__max_length=5000, ladder__domain_transfer=["domain"])
    assert [line.split()[0] for line in messages] == ["AB-099"] * 3 + ["AB-111"], messages
