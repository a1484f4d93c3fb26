"""Rules between the sections: each broken on its own in a copy of the demo, and what is only worth a notice.

Questions are about arms that are there, and the notices say beforehand where there will be no verdict.
"""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import plan_file, strict_yaml
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import write_json
from adaptbert.errors import BAD_PARAMS
from tests.support.rules import DEMO, FILE, REMOVED, changed, errors, rule_errors


def test_the_demo_is_consistent() -> None:
    assert rule_errors() == []


TWO = {"ladder.draws": 2}
"""With one draw there is a notice that there will be no verdict."""
ENCODER = DEMO["ladder"]["starts"]["small"]["encoder"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"collect_task.section.shape": "sentence_pair"},
            "AB-111 params.yaml: finetune.section: options of single_sentence, but the task's shape is sentence_pair"
            "\n  write `sentence_pair: {long_text: head}` in their place",
            id="options belong to the shape of the task",
        ),
        pytest.param(
            {"finetune.all.single_sentence": {"long_text": "head"}},
            "AB-111 params.yaml: finetune.all: options of single_sentence and sequence_labelling, but the task's shape "
            "is sequence_labelling\n  write `sequence_labelling: {stride: 64}` in their place",
            id="options of one task are not those of all",
        ),
        pytest.param(
            {"tokenizer.all.extend": {"corpora": ["posts"], "num_new_tokens": 9, "min_frequency": 2}},
            "AB-099 params.yaml: tokenizer.all.extend.corpora: 'posts' is not in collect\n  known: general, domain",
            id="a corpus of further words exists",
        ),
        pytest.param(
            {"tokenizer.all.corpora": ["general", "mention"]},
            "AB-099 params.yaml: tokenizer.all.corpora: 'mention' is a labelled set, and a vocabulary is trained on "
            "corpora\n  put its text into a corpus of collect, and name that",
            id="a vocabulary is not trained on a labelled set",
        ),
        pytest.param(
            {"tokenizer.all.corpora": [], "tokenizer.all.vocabulary_size": REMOVED},
            "AB-111 params.yaml: tokenizer.all: start 'small' has random weights, so its vocabulary is trained: "
            "corpora, vocabulary_size missing\n  add it, as in presets/demo.yaml",
            id="random weights need a vocabulary",
        ),
        pytest.param(
            {
                "collect.general": REMOVED,
                "tokenizer.all.corpora": ["domain"],
                "ladder.arms": {"domain": {"domain_transfer": "domain"}},
            },
            "AB-099 params.yaml: collect: no corpus 'general'\n  name the text that pretrain is trained on so",
            id="there is general text",
        ),
        pytest.param(
            {"finetune.mention.max_length": 1000},
            "AB-111 params.yaml: finetune.mention.max_length: max_length 1000 > "
            "ladder.starts.small.encoder.max_positions 512\n  write at most 512, or raise max_positions",
            id="rows fit the encoder",
        ),
        pytest.param(
            {"tokenize.all.max_length": 1000},
            "AB-111 params.yaml: tokenize.all.max_length: max_length 1000 > "
            "ladder.starts.small.encoder.max_positions 512\n  write at most 512, or raise max_positions",
            id="documents fit the encoder",
        ),
        pytest.param(
            {"collect_task": {}, "finetune": {"all": DEMO["finetune"]["all"]}},
            "AB-099 params.yaml: collect_task: no task, so nothing to compare\n  add a labelled set: "
            "`adaptbert add-task FILE...`",
            id="there is a task",
        ),
        pytest.param(
            {"ladder.tasks": {"section": {"arms": []}, "mention": {"starts": []}}},
            "AB-111 params.yaml: ladder.arms: no task has an arm from any start, so nothing to compare\n  name a task "
            "and a start in an arm, or leave out its lists `tasks` and `starts`",
            id="there is a cell",
        ),
        pytest.param(
            {"collect_task.section.target": "number", "finetune.all.class_weights": "balanced"},
            "AB-111 params.yaml: finetune.all.class_weights: class_weights and target 'number': regression has no "
            "classes\n  remove the key",
            id="regression has no classes",
        ),
    ],
)
def test_refused(changes: dict[str, Any], expected: str) -> None:
    assert rule_errors(**changes) == [f"{expected} ({BAD_PARAMS})"]


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_key_of_a_rung_fits_into_the_name_of_a_file(tmp_path: Path, is_allowed: bool) -> None:
    names = [letter * 38 for letter in "abcd"] + ["e" * (36 if is_allowed else 37)]
    arms = {"general": {}, "many": {"domain_transfer": names}, "fewer": {"domain_transfer": names[1:]}}
    corpora = {f"collect.{name}": DEMO["collect"]["domain"] for name in names}
    key = "-".join([*names, "small", "1"])
    refusal = (
        "AB-112 params.yaml: ladder.arms.many.domain_transfer: its longest key has 201 characters, more than 200: "
        f"{key[:80]}... (201 characters)\n  give the corpora shorter names, or name fewer in the list (78)"
    )
    assert rule_errors(**corpora, **{"ladder.arms": arms}) == ([] if is_allowed else [refusal])
    assert key in plan_file.names(changed(**corpora, **{"ladder.arms": arms}), FILE).domain_transfer
    write_json(tmp_path / f"{key}.parquet", {})  # whose temporary name is longer


def test_null_is_no_value() -> None:
    """A block says so that it has not what `all` has."""
    assert rule_errors(**{"tokenizer.all.extend": None, "tokenizer.small": {"extend": None}}) == []
    weights = {"finetune.all.class_weights": "balanced", "finetune.section.class_weights": None}
    assert rule_errors(**{"collect_task.section.target": "number"}, **weights) == []


def test_a_checkpoint_brings_its_own_positions_and_words() -> None:
    """Their number is in its config, which is not read here."""
    checkpoint = {"ladder.starts.small": {"init": "models/init/small"}, "tokenizer": {"all": {}}}
    assert rule_errors(**checkpoint, **{"tokenize.all.max_length": 5000}) == []


def test_each_start_is_held_against_its_own_values() -> None:
    tiny = {"init": "scratch", "encoder": {**ENCODER, "max_positions": 64}}
    two = {"ladder.starts.tiny": tiny}
    assert [line.partition(": max_length")[0] for line in rule_errors(**two)] == [
        "AB-111 params.yaml: tokenize.all.max_length",
        "AB-111 params.yaml: finetune.all.max_length",
    ]
    assert rule_errors(**two, **{f"{section}.tiny": {"max_length": 64} for section in ("tokenize", "finetune")}) == []


@pytest.mark.parametrize(("counts", "few"), [((2, 2), "section has 2, mention has 2"), ((3, 1), "mention has 1")])
def test_too_few_seeds_are_reported_in_one_line(counts: tuple[int, int], few: str) -> None:
    tasks = dict(zip(("section", "mention"), counts, strict=True))
    document = changed(**TWO, **{f"finetune.{task}.seeds": [*range(count)] for task, count in tasks.items()})
    assert notices(document, FILE) == [
        f"params.yaml: finetune: seeds: {few}: of fewer than 3 no interval and no verdict can be given; "
        "write e.g. [1, 2, 3]"
    ]


def test_arms_that_no_step_compares_are_a_notice() -> None:
    """Once for all starts."""
    assert notices(changed(**TWO), FILE) == []
    alone = {"ladder.arms": {"domain": {"domain_transfer": "domain", "tasks": ["section"]}}}
    twice = {"ladder.starts.other": {"init": "scratch", "encoder": ENCODER}}
    assert rule_errors(**alone, **twice) == []
    assert notices(changed(**alone, **twice), FILE)[:-1] == [
        "params.yaml: ladder.arms.domain: on section, no step compares this arm with another. To measure domain "
        "transfer, add the arm `general: {}` to compare with domain."
    ]


def test_an_arm_that_is_fine_tuned_otherwise_is_a_notice() -> None:
    """Not beside an arm of the same steps, whose variant it is, and not where it is compared between starts."""
    of_general = {"finetune.general": {"epochs": 1}}
    assert rule_errors(**of_general) == []
    assert [line for line in notices(changed(**of_general), FILE) if "finetune.general:" in line] == [
        f"params.yaml: finetune.general: on {task}, no step compares an arm that is fine-tuned otherwise; write these "
        f"values into all or {task} for all arms"
        for task in ("section", "mention")
    ]
    assert not [line for line in notices(changed(**of_general), FILE) if "add the arm `general: {}`" in line], (
        "it is there"
    )
    variant = {"ladder.arms.probe": {}, "finetune.probe": {"epochs": 1}}
    assert notices(changed(**variant, **TWO), FILE) == []
    twice = {"ladder.starts.other": {"init": "scratch", "encoder": ENCODER}}
    assert [line for line in notices(changed(**of_general, **twice), FILE) if "finetune.general:" in line] == []


@pytest.mark.parametrize(
    ("shape", "target", "block"),
    [
        ("sentence_pair", "class", "sentence_pair: {long_text: head}"),
        ("extractive_answer", "answer", "extractive_answer: {max_question: 32, stride: 48, max_answer: 32}"),
        ("sequence_labelling", "spans", "sequence_labelling: {stride: 64}"),
    ],
)
@pytest.mark.parametrize("is_missing", [True, False])
def test_the_block_of_a_shape_can_be_pasted(shape: str, target: str, block: str, is_missing: bool) -> None:
    task = {"source": "files", "train": "train.jsonl", "dev": "dev.jsonl", "test": "test.jsonl"}
    task |= {"shape": shape, "target": target}
    needed = {"spans": {"tag_scheme": "bio"}, "answer": {"no_answer": True}}
    changes: dict[str, Any] = {"collect_task.section": {**task, **needed.get(target, {})}}
    old = "no shape" if is_missing else "single_sentence"
    place = "" if is_missing else " in their place"
    assert rule_errors(**changes, **({"finetune.section.single_sentence": REMOVED} if is_missing else {})) == [
        f"AB-111 params.yaml: finetune.section: options of {old}, but the task's shape is {shape}\n  "
        f"write `{block}`{place} (78)"
    ]
    pasted = {"finetune.section": strict_yaml.load(block, FILE)}
    assert rule_errors(**changes, **pasted) == []
    blocks.parse(Finetune, changed(**pasted)["finetune"], ["section"], "finetune", FILE)


def test_all_are_reported_together() -> None:
    """Names that must be there first; only then what is said of them."""
    further = {"tokenizer.all.corpora": ["x"], "tokenize.all.max_length": 5000, "ladder.tasks": {"x": {}}}
    assert [line.split()[0] for line in rule_errors(**further)] == ["AB-099"] * 2 + ["AB-111"]
    first = rule_errors(**further, **{"collect.general": REMOVED, "finetune.x": {}})
    assert [line.split(": ")[1] for line in first] == ["finetune", "collect"]


# --- questions


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"compare.primary": ["domain_texts"]},
            "AB-099 params.yaml: compare.primary: 'domain_texts' is no question (did you mean 'domain_text'?)",
        ),
        (
            {"compare.primary": ["domain_text/news"]},
            "AB-099 params.yaml: compare.primary: 'domain_text/news' is no question",
        ),
        (
            {"compare.questions": {"both": ["domain_task", "generall"]}},
            "AB-099 params.yaml: compare.questions.both: 'generall' is no arm (did you mean 'general'?)",
        ),
        (
            {"compare.questions": {"climb": ["domain_task", "general"]}},
            "AB-112 params.yaml: compare.questions.climb: 'climb' is a question already",
        ),
    ],
)
def test_names_that_mean_nothing(changes: dict[str, Any], expected: str) -> None:
    (error,) = rule_errors(**changes)
    assert error.startswith(expected)


def test_questions_of_ones_own() -> None:
    own = {"compare.questions": {"both": ["domain_task", "general"]}, "compare.primary": ["both", "domain_text"]}
    assert rule_errors(**own) == []
    news = {"ladder.arms.news": {"domain_transfer": "domain"}, "compare.primary": ["domain_text/news"]}
    assert not [error for error in rule_errors(**news) if "compare.primary" in error], "the arm is there"


@pytest.mark.parametrize("worth", [0, -1, "much"])
def test_what_is_worth_having_is_a_number_of_points(worth: object) -> None:
    assert any("compare.worth" in error for error in errors(**{"compare.worth": worth}))


def test_one_draw_is_a_notice() -> None:
    (notice,) = notices(changed(**{"ladder.draws": 1}), FILE)
    assert notice == (
        "params.yaml: ladder.draws: with 1 draw there is no verdict on a step, only a description of these weights; "
        "write 2 or more"
    )
    assert notices(changed(), FILE) == []


def test_a_question_that_no_task_asks_is_a_notice() -> None:
    two = {"ladder.draws": 2, "ladder.arms": {"general": {}, "task": {"task_transfer": "own"}}}
    (notice,) = notices(changed(**two), FILE)
    assert notice == (
        "params.yaml: compare.primary: no task has the arms for domain_text or task_transfer_after_domain, so there "
        "will be no verdict; questions that the arms answer: task_transfer"
    )
    assert notices(changed(**two, **{"compare.primary": ["task_transfer"]}), FILE) == []


def test_an_arm_that_repeats_another_asks_one_question() -> None:
    again = {"ladder.draws": 2, "ladder.arms.domain_again": {"again": "domain"}}
    assert notices(changed(**again), FILE) == [], "it is not alone"
    assert rule_errors(**again, **{"compare.primary": ["aa"]}) == []
    assert notices(changed(**again, **{"compare.primary": ["aa"]}), FILE) == []
    (notice,) = notices(changed(**{"ladder.draws": 2, "compare.primary": ["aa"]}), FILE)
    assert "no task has the arms for aa" in notice
    (error,) = rule_errors(**{"compare.questions": {"aa": ["domain", "general"]}})
    assert "'aa' is a question already" in error
