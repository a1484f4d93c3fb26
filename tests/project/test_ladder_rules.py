"""Rules of the names of the ladder: each broken on its own in a copy of the demo."""

from typing import Any

import pytest

from adaptbert.errors import BAD_PARAMS
from tests.support.rules import DEMO, REMOVED, errors

OF_NAMES = "names begin with a letter a-z and go on with a-z, 0-9 and _, 40 characters at most"


@pytest.mark.parametrize("name", ["bits_per_char", "training", "starts", "inspection"])
def test_a_task_cannot_hide_a_section_of_the_metrics(name: str) -> None:
    assert errors(
        **{f"collect_task.{name}": DEMO["collect_task"]["section"], f"finetune.{name}": DEMO["finetune"]["section"]}
    ) == [
        f"AB-112 params.yaml: collect_task.{name}: '{name}' is a section of metrics/comparison.json\n  give the task "
        "another name (78)"
    ]


@pytest.mark.parametrize(
    ("arm", "what"),
    [("steps", "a section of metrics/comparison.json"), ("majority", "a baseline"), ("tfidf_logistic", "a baseline")],
)
def test_an_arm_cannot_hide_a_baseline(arm: str, what: str) -> None:
    assert errors(**{f"ladder.arms.{arm}": {"domain_transfer": ["general", "domain"]}}) == [
        f"AB-112 params.yaml: ladder.arms.{arm}: '{arm}' is {what}\n  give the arm another name (78)"
    ]


@pytest.mark.parametrize(
    ("name", "offered"),
    [("my arm", "my_arm"), ("a/b", "a_b"), ("-x", "x"), ("v1.5", "v1_5"), ("ｍ　ａ", "m_a"), ("My-Arm", "my_arm"),
     ("我的", ""), ("x" * 101, ""), ("!", ""), ("1st", ""), ("../escape", "escape")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["ladder.arms", "ladder.starts", "collect", "collect_task"])
def test_a_name_has_certain_characters(kind: str, name: str, offered: str) -> None:
    """And one like it is offered, of a set unless another set has it."""
    section, _, part = kind.partition(".")
    entries = DEMO[section][part] if part else DEMO[section]
    changes: dict[str, Any] = {kind: {**entries, name: next(iter(entries.values()))}}
    shown = name if len(name) < 80 else f"{'x' * 80}... (101 characters)"
    call = f"call it {offered}: " if offered else ""
    bad = [line for line in errors(**changes) if line.startswith("AB-112")]
    assert [line.partition(": '")[2] for line in bad] == [
        f"{shown}' cannot be the name of a stage\n  {call}{OF_NAMES} ({BAD_PARAMS})"
    ]
    assert bad[0].startswith(f"AB-112 params.yaml: {kind}.{name[:60]}")


def test_a_name_that_is_taken_is_not_offered() -> None:
    (line,) = errors(collect={**DEMO["collect"], "domain!": DEMO["collect"]["domain"]})
    assert line.endswith(f"cannot be the name of a stage\n  {OF_NAMES} (78)")


@pytest.mark.parametrize("name", RESERVED)
def test_words_of_the_ladder_and_of_yaml_are_no_names(name: str) -> None:
    (line,) = errors(**{f"ladder.arms.{name}": {"domain_transfer": ["general", "domain"]}})
    assert line == (
        f"AB-112 params.yaml: ladder.arms.{name}: '{name}' is a word of the ladder or of YAML\n  "
        "give it another name (78)"
    )


@pytest.mark.parametrize(
    ("changes", "place", "other"),
    [
        ({"ladder.starts.section": DEMO["ladder"]["starts"]["small"]}, "ladder.starts.section", "collect_task"),
        ({"ladder.starts.domain": DEMO["ladder"]["starts"]["small"]}, "ladder.starts.domain", "collect"),
        ({"ladder.arms.small": {"domain_transfer": ["general", "domain"]}}, "ladder.arms.small", "ladder.starts"),
        ({"ladder.arms.section": {"domain_transfer": ["general", "domain"]}}, "ladder.arms.section", "collect_task"),
        ({"collect.section": DEMO["collect"]["domain"]}, "collect_task.section", "collect"),
    ],
)
def test_a_name_means_one_thing(changes: dict[str, Any], place: str, other: str) -> None:
    problem = f"'{place.rpartition('.')[2]}' is also a name in {other}"
    assert f"AB-112 params.yaml: {place}: {problem}\n  give one of them another name (78)" in errors(**changes)


SAME_VALUES: dict[str, dict[str, Any]] = {
    "no block": {},
    "an empty block": {"finetune.again": {}},
    "equal blocks": {
        "finetune.again": {"dropout": 0.2, "epochs": 3},
        "finetune.general": {"epochs": 3, "dropout": 0.2},
    },
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"ladder.arms.far": {"domain_transfer": "domian"}},
            "AB-099 params.yaml: ladder.arms.far.domain_transfer: 'domian' is not in collect (did you mean 'domain'?)"
            "\n  known: general, domain",
            id="a corpus exists",
        ),
        pytest.param(
            {"ladder.arms.far": {"domain_transfer": ["domain", "general"], "tasks": ["sectoin"]}},
            "AB-099 params.yaml: ladder.arms.far.tasks: 'sectoin' is not in collect_task (did you mean 'section'?)\n  "
            "known: section, mention",
            id="a task of an arm exists",
        ),
        pytest.param(
            {"ladder.tasks": {"sectoin": {"arms": ["domain"]}}},
            "AB-099 params.yaml: ladder.tasks: 'sectoin' is not in collect_task (did you mean 'section'?)\n  "
            "known: section, mention",
            id="a task exists",
        ),
        pytest.param(
            {"ladder.tasks": {"section": {"arms": ["domian"]}}},
            "AB-111 params.yaml: ladder: tasks.section.arms names 'domian', which is not there\n  known: scratch, "
            "general, general_long, domain, task, domain_task",
            id="an arm of a task exists",
        ),
        pytest.param(
            {"finetune.sectoin": {"epochs": 6}},
            "AB-099 params.yaml: finetune: 'sectoin' is not in ladder.starts or collect_task or ladder.arms (did you "
            "mean 'section'?)\n  known: small, section, mention, scratch, general, general_long, domain, task, "
            "domain_task",
            id="a block has the name of something",
        ),
        pytest.param(
            {"domain_transfer.section": {"dropout": 0.1}},
            "AB-099 params.yaml: domain_transfer: 'section' is not in ladder.starts or collect\n  known: small, "
            "general, domain",
            id="a task has no block in domain transfer",
        ),
        pytest.param(
            {"tokenizer": {"small": DEMO["tokenizer"]["all"]}},
            "AB-099 params.yaml: tokenizer.all: is missing\n  add `all: {}`",
            id="a section has the block all",
        ),
        pytest.param(
            {"ladder.arms": {"domain": {}}},
            "AB-185 params.yaml: ladder.arms.domain: an arm 'domain' is {domain_transfer: <corpus>}, and this one is "
            "not\n  write {domain_transfer: <corpus>}, or call it general",
            id="domain transfer is not pre-training under another name",
        ),
        pytest.param(
            {"ladder.arms": {"general": {"domain_transfer": "general"}}},
            "AB-185 params.yaml: ladder.arms.general: an arm 'general' is {}, and this one is not\n  write {}, or call "
            "it general_long",
            id="the control is not the arm below it",
        ),
        pytest.param(
            {"ladder.arms": {"domain": {"pretrain": "none", "domain_transfer": "domain"}}},
            "AB-185 params.yaml: ladder.arms.domain: an arm 'domain' is {domain_transfer: <corpus>}, and this one is "
            "not\n  write {domain_transfer: <corpus>}, or call it otherwise",
            id="a climb without a role",
        ),
        *(
            pytest.param(
                {"ladder.arms": {"general": {}, "again": {}}, **blocks},
                "AB-186 params.yaml: ladder.arms.again: trained on what general is trained on: the same cell twice\n  "
                "remove one, train it on something else, or write other values in finetune.again",
                id=f"two arms with one climb, {what}",
            )
            for what, blocks in SAME_VALUES.items()
        ),
    ],
)
def test_refused(changes: dict[str, Any], expected: str) -> None:
    assert errors(**changes) == [f"{expected} ({BAD_PARAMS})"]


@pytest.mark.parametrize("section", ["domain_transfer", "task_transfer"])
def test_a_section_that_no_arm_needs_is_there_all_the_same(section: str) -> None:
    """The first stage depends on it, since a name can stand in it, and DVC stops at a section that is missing."""
    without: dict[str, Any] = {"ladder.arms": {"general": {}}}
    assert errors(**without, **{section: REMOVED}) == [
        f"AB-099 params.yaml: {section}: is missing\n  add `{section}: {{all: {{}}}}` (78)"
    ]
    assert errors(**without, **{section: {"all": {}}}) == []


@pytest.mark.parametrize(
    "init", ["/big/bert", "./bert", "../bert", "~/bert", "models/other", "models/init", "models/init/other", "a/b/c"]
)
@pytest.mark.parametrize("revision", [{}, {"revision": "main"}])
def test_a_start_from_a_path_that_nobody_watches(init: str, revision: dict[str, str]) -> None:
    """Nothing is said of a revision, which only models of the hub have."""
    if init == "models/init/other" and revision:
        pytest.skip("is one of the project's folders, to which a revision is refused first")
    assert errors(**{"ladder.starts.small": {"init": init, **revision}}) == [
        f"AB-211 params.yaml: ladder.starts.small.init: init is {init}, a path that DVC does not watch\n  "
        f"write init: models/init/small, and run `adaptbert import {init} --start small`, or copy it there (78)"
    ]


def test_the_command_of_a_remedy_can_be_copied() -> None:
    (line,) = errors(**{"ladder.starts.small": {"init": "./a b; touch c"}})
    assert "run `adaptbert import './a b; touch c' --start small`" in line


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({"init": "models/init/small"}, ""),
        ({"init": "bert-base-chinese", "revision": "main"}, ""),
        ({"init": "hfl/rbt3", "revision": "1.0"}, ""),
        ({"init": "hfl/rbt3"}, "init is hfl/rbt3 and revision is missing\n  add it, e.g. `revision: main`"),
        (
            {"init": "models/init/small", "revision": "main"},
            "init is models/init/small and revision is given\n  take it out: it is of a model on the hub",
        ),
    ],
)
def test_starts_that_are_watched_or_named(start: dict[str, str], expected: str) -> None:
    messages = errors(**{"ladder.starts.small": start})
    assert messages == ([f"AB-111 params.yaml: ladder.starts.small: {expected} (78)"] if expected else [])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="a corpus and an arm share the names domain and general"),
        pytest.param({"ladder.arms": {"base": {}, "ours": {"domain_transfer": ["domain", "general"]}}}, id="own names"),
        pytest.param(
            {"ladder.arms": {"general": {}, "again": {}}, "finetune.again": {"dropout": 0.2}},
            id="one climb with other values",
        ),
        pytest.param(
            {
                "ladder.arms": {
                    name: {"domain_transfer": "domain", "tasks": [task]}
                    for name, task in (("ours", "section"), ("theirs", "mention"))
                }
            },
            id="one climb for different tasks",
        ),
    ],
)
def test_allowed(changes: dict[str, Any]) -> None:
    assert errors(**changes) == []


@pytest.mark.parametrize(("name", "kind"), [("domain", "arms"), ("small", "starts")])
@pytest.mark.parametrize(("key", "value"), [("labels", 50), ("seeds", [7, 8, 9]), ("label_counts", [50, 100])])
def test_what_is_compared_has_the_same_labels_and_seeds(name: str, kind: str, key: str, value: Any) -> None:
    assert errors(**{f"finetune.{name}": {key: value}}) == [
        f"AB-111 params.yaml: finetune.{name}.{key}: {kind} of a task are compared on the same {key}\n  write it into "
        "finetune.all, or into the block of a task (78)"
    ]


@pytest.mark.parametrize("kind", ["starts", "arms"])
def test_there_is_a_start_and_an_arm(kind: str) -> None:
    assert errors(**{f"ladder.{kind}": {}}) == [
        f"AB-099 params.yaml: ladder.{kind}: empty, so nothing to compare\n  add one, as in presets/demo.yaml (78)"
    ]


def test_an_arm_that_repeats_another_is_fine_tuned_as_that_one_is() -> None:
    again = {"ladder.arms.domain_again": {"again": "domain"}}
    assert errors(**again) == []
    for block in ("domain", "domain_again"):
        document = {"finetune": DEMO["finetune"] | {block: {"epochs": 9}}}
        (error,) = errors(**again, **document)
        assert f"params.yaml: finetune.{block}: 'domain_again' repeats 'domain'" in error


def test_an_arm_that_repeats_another_is_on_no_task_without_it() -> None:
    """There would be nothing to compare it with."""
    arms = {"ladder.arms.domain": {"domain_transfer": "domain", "tasks": ["mention"]}}
    again = {"ladder.arms.domain_again": {"again": "domain", "tasks": ["mention", "section"]}}
    (error,) = errors(**arms, **again)
    assert error.startswith("AB-111 params.yaml: ladder.arms.domain_again: 'domain_again' repeats 'domain', and ")
    assert "the task section has no 'domain' from the same starts" in error
    assert errors(**arms, **{"ladder.arms.domain_again": {"again": "domain"}}) == []


def test_an_arm_that_is_nowhere() -> None:
    without_a_name = errors(**{"ladder.arms.more": {"again": None}})
    assert any("ladder.arms.more.again: empty" in error for error in without_a_name)
    (error,) = errors(**{"ladder.arms.more": {"domain_transfer": "domain", "tasks": []}})
    assert error.startswith("AB-111 params.yaml: ladder.arms.more.tasks: empty, so that 'more' is nowhere")
    arms = {"ladder.arms.domain": {"domain_transfer": "domain", "tasks": ["mention"]}}
    (error,) = errors(**arms, **{"ladder.tasks": {"section": {"arms": ["scratch", "domain"]}}})
    assert "ladder.tasks.section.arms: names 'domain', and ladder.arms.domain.tasks is without section" in error


def test_one_recipe_is_repeated_by_one_arm_and_by_none_that_has_the_name_of_a_role() -> None:
    twice = {f"ladder.arms.{name}": {"again": "domain"} for name in ("more", "again")}
    (error,) = errors(**twice)
    assert "ladder.arms.again: trained on what more is trained on: the same cell twice" in error
    news = {"ladder.arms.news": {"domain_transfer": "domain"}, "ladder.arms.domain": {"again": "news"}}
    assert any("ladder.arms.domain: an arm 'domain' is" in error for error in errors(**news))
