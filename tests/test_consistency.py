"""Rules between the sections: each broken on its own in a copy of the demo."""

import copy
from pathlib import Path
from typing import Any

import pytest

from adaptbert import params
from adaptbert.consistency import check
from adaptbert.errors import BAD_PARAMS, UserError
from tests.import_closure import ROOT

FILE = Path("params.yaml")
TAPT_OF_MENTION = "task_transfer/mention-domain"
DEMO = params.read(ROOT / "presets/demo.yaml")


def errors(**changes: Any) -> list[str]:
    """What is told when the values at these dotted keys (`__` for a dot) are others; None takes a key away."""
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
        return [f"{line} ({error.exit_code})" for line in str(error).splitlines()]
    return []


def test_the_demo_is_consistent() -> None:
    assert errors() == []


@pytest.mark.parametrize("name", ["bits_per_char", "training", "suite", "inspection"])
def test_a_task_cannot_hide_a_section_of_the_metrics(name: str) -> None:
    task = {name: DEMO["collect_task"]["section"]}
    assert errors(collect_task={**DEMO["collect_task"], **task}) == [
        f"AB-112 params.yaml: collect_task.{name}: '{name}' is a section of metrics/comparison.json; give the task "
        "another name (78)"
    ]


@pytest.mark.parametrize(
    ("arm", "what"),
    [("steps", "a section of metrics/comparison.json"), ("majority", "a control"), ("tfidf_logistic", "a control")],
)
def test_an_arm_cannot_hide_a_control(arm: str, what: str) -> None:
    cell = {f"section-{arm}": {"task": "section", "arm": arm, "from": "pretrain"}}
    assert errors(ladder__finetune={**DEMO["ladder"]["finetune"], **cell}) == [
        f"AB-112 params.yaml: ladder.finetune.section-{arm}.arm: '{arm}' is {what}; give the arm another name (78)"
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"ladder__finetune": {"section-domain": {"task": "section", "arm": "general", "from": "pretrain"}}},
            [
                "AB-111 params.yaml: ladder.finetune.section-domain: this key does not fit its values, task 'section' "
                "and arm 'general'; call it section-general"
            ],
            id="a cell is named after its task and arm",
        ),
        pytest.param(
            {"ladder__finetune": {"section-x": {"task": "section", "arm": "x", "from": "domain_transfer/domian"}}},
            [
                "AB-099 params.yaml: ladder.finetune.section-x.from: 'domain_transfer/domian' is not in the rungs of "
                "the ladder (did you mean 'domain_transfer/domain'?); known: scratch, pretrain, "
                "domain_transfer/domain, domain_transfer/general, task_transfer/section-general, "
                "task_transfer/section-domain, task_transfer/mention-general, task_transfer/mention-domain"
            ],
            id="a cell starts from a rung",
        ),
        pytest.param(
            {"ladder__finetune": {"section-x": {"task": "section", "arm": "x", "from": TAPT_OF_MENTION}}},
            [
                "AB-111 params.yaml: ladder.finetune.section-x: task 'section', but from "
                "'task_transfer/mention-domain', which is trained on the text of 'mention'; "
                "start from a rung of the same task"
            ],
            id="a cell starts from its own task",
        ),
        pytest.param(
            {"ladder__finetune": {"sectoin-x": {"task": "sectoin", "arm": "x", "from": "pretrain"}}},
            [
                "AB-099 params.yaml: ladder.finetune.sectoin-x.task: 'sectoin' is not in collect_task "
                "(did you mean 'section'?); known: section, mention",
                "AB-099 params.yaml: ladder.finetune.sectoin-x.task: 'sectoin' is not in finetune "
                "(did you mean 'section'?); known: section, mention",
            ],
            id="a cell's task exists",
        ),
        pytest.param(
            {"ladder__task_transfer__general": {"task": "section", "from": "pretrain"}},
            [
                "AB-111 params.yaml: ladder.task_transfer.general: this key does not fit its values, task 'section'; "
                "call it section-<from>"
            ],
            id="a task rung is named after its task",
        ),
        pytest.param(
            {"ladder__task_transfer": {"section-general": {"task": "section", "from": "task_transfer/section-domain"}},
             "ladder__finetune": {}},
            [
                "AB-099 params.yaml: ladder.task_transfer.section-general.from: 'task_transfer/section-domain' is not "
                "in the rungs below (did you mean 'domain_transfer/domain'?); known: scratch, pretrain, "
                "domain_transfer/domain, domain_transfer/general"
            ],
            id="a task rung starts from a rung below",
        ),
        pytest.param(
            {"collect_task__section__shape": "sentence_pair"},
            [
                "AB-111 params.yaml: finetune.section: options of single_sentence, but the task's shape is "
                "sentence_pair; see shape and target of collect_task.section"
            ],
            id="options belong to the shape of the task",
        ),
        pytest.param(
            {"collect_task__mention__target": "tags"},
            [
                "AB-111 params.yaml: finetune.mention: target 'tags' and tag_scheme 'bio': spans need one, tags take "
                "none; see shape and target of collect_task.mention"
            ],
            id="a tag scheme belongs to spans",
        ),
        pytest.param(
            {"ladder__domain_transfer": ["domain", "general", "far"]},
            [
                "AB-099 params.yaml: ladder.domain_transfer: 'far' is not in collect; known: domain, general"
            ],
            id="a corpus to transfer to exists",
        ),
        pytest.param(
            {"ladder__domain_transfer": ["domain", "general", "domain"]},
            ["AB-111 params.yaml: ladder.domain_transfer: 'domain' twice; name each corpus once"],
            id="a corpus is named once",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "domains"]},
            [
                "AB-099 params.yaml: tokenizer.corpora: 'domains' is not in collect (did you mean 'domain'?); "
                "known: domain, general"
            ],
            id="a corpus of the vocabulary exists",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "mention"]},
            [
                "AB-099 params.yaml: tokenizer.corpora: 'mention' is a labelled set, and a vocabulary is trained on "
                "corpora; put its text into a corpus of collect, and name that"
            ],
            id="a vocabulary is not trained on a labelled set",
        ),
        pytest.param(
            {"tokenizer__corpora": ["general", "ner"]},
            ["AB-099 params.yaml: tokenizer.corpora: 'ner' is not in collect; known: domain, general"],
            id="an unlike name is not offered",
        ),
        pytest.param(
            {"collect__general": None, "tokenizer__corpora": ["domain"], "ladder__domain_transfer": ["domain"],
             "ladder__finetune__section-general_long": None, "ladder__finetune__mention-general_long": None},
            [
                "AB-099 params.yaml: collect: no corpus 'general'; name the text that pretrain is trained on so"
            ],
            id="there is general text",
        ),
        pytest.param(
            {"collect__../escape": {"source": "files", "path": "x"}},
            [
                "AB-112 params.yaml: collect.../escape: '../escape' cannot be the name of a folder; "
                "use letters, digits, _ . and -"
            ],
            id="a name is not a path",
        ),
        pytest.param(
            {"finetune__mention__max_length": 1000},
            [
                "AB-111 params.yaml: finetune.mention.max_length: max_length 1000 > pretrain.encoder.max_positions "
                "512; change one of the two"
            ],
            id="documents fit the encoder",
        ),
        pytest.param(
            {"pretrain__init": "models/init", "pretrain__encoder": None},
            [
                "AB-111 params.yaml: tokenizer.source: source train, but pretrain.init is models/init, which knows "
                "its own vocabulary only; write `init` for models/init, or the same name"
            ],
            id="weights and vocabulary belong together",
        ),
    ],
)  # fmt: skip
def test_refused(changes: dict[str, Any], expected: list[str]) -> None:
    assert errors(**changes) == [f"{line} ({BAD_PARAMS})" for line in expected]


def test_a_checkpoint_brings_its_own_positions() -> None:
    """Their number is in its config, which is not read here."""
    own = {"pretrain__init": "models/init", "pretrain__encoder": None, "tokenizer__source": "init"}
    assert errors(**own, tokenize__max_length=5000) == []


def test_all_are_told_together() -> None:
    found = errors(tokenizer__corpora=["x"], tokenize__max_length=5000, ladder__domain_transfer=["domain"])
    assert [line.split()[0] for line in found] == ["AB-099"] * 3 + ["AB-111"], found
