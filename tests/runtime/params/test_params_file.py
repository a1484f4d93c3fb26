"""Every bad params.yaml of the catalogue (99 to 118): one line with key, value and remedy, before anything runs."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.config import load as params
from adaptbert.errors import BAD_PARAMS, BadParams, UserError
from tests.support.imports import ROOT
from tests.support.messages import messages_in

DEMO = (ROOT / "presets/demo.yaml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def errors(folder: Path, content: str | bytes) -> list[str]:
    """The errors of a params.yaml with this content."""
    path = folder / "params.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    raised: UserError | None = None
    try:
        check_all(params.read(path), path)
    except UserError as error:
        raised = error
    assert raised is None or raised.exit_code == BAD_PARAMS
    return messages_in(str(raised).replace(f"{folder}/", "")) if raised else []


def demo(old: str, new: str, section: str = "") -> str:
    """The demo with one change in a section."""
    start = DEMO.index(f"\n{section}:") if section else 0
    place = DEMO.index(old, start)
    return DEMO[:place] + new + DEMO[place + len(old) :]


def test_the_demo_is_all_right(tmp_path: Path) -> None:
    assert errors(tmp_path, DEMO) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            demo("learning_rate", "learning_rat", "pretrain"),
            [
                r"AB-099 params.yaml: pretrain.all.optim.learning_rate: is missing\n  add it.*",
                r"AB-099 params.yaml: pretrain.all.optim.learning_rat: unknown key 'learning_rat' "
                r"\(did you mean 'learning_rate'\?\)\n  known: .*",
            ],
            id="099 unknown key",
        ),
        pytest.param(
            DEMO + "\npretrian: {}\n",
            [r"AB-099 .*: pretrian: unknown section 'pretrian' \(did you mean 'pretrain'\?\)\n  known: .*"],
            id="099 unknown section",
        ),
        pytest.param(
            demo("measure:", "meassure:"),
            [
                r"AB-099 .*measure: 'measure' is missing in the file\n  add it; .*",
                r"AB-099 .*meassure: unknown section 'meassure' \(did you mean 'measure'\?\)\n.*",
            ],
            id="099 section mistyped",
        ),
        pytest.param(
            demo("single_sentence: {long_text: head}", "single_sentence: {long_text: head, tag_scheme: bio}"),
            [r"AB-099 .*single_sentence.tag_scheme: unknown key 'tag_scheme'\n  known: long_text, stride"],
            id="099 an option of another shape",
        ),
        pytest.param(
            demo("single_sentence: {long_text: head}", "single_sentence: {long_text: head, stride: 9}"),
            [r"AB-111 .*finetune.section.single_sentence: long_text 'head' and stride 9: windows need one.*"],
            id="111 a stride without windows",
        ),
        pytest.param(
            demo("    single_sentence: {long_text: head}", "    dropout: 0.1"),
            [
                r"AB-111 .*finetune.section: options of no shape, but the task's shape is single_sentence\n  "
                r"write `single_sentence: {long_text: head}`"
            ],
            id="111 no options of a shape",
        ),
        pytest.param(
            demo(
                "sequence_labelling: {stride: 64}",
                "sequence_labelling: {stride: 127}",
            ),
            [
                r"AB-111 .*finetune.mention: stride 127 leaves out tokens: max_length 128 holds two less\n  "
                r"write a stride of at most 126"
            ],
            id="111 a large stride",
        ),
        pytest.param(
            demo(
                "single_sentence: {long_text: head}",
                "extractive_answer: {max_question: 125, stride: 1, max_answer: 9}",
            ),
            [r"AB-111 .*max_question 125 leaves no room .*\n  write a max_question of at most 124, .*"],
            id="111 a question that leaves no room",
        ),
        pytest.param(
            demo("learning_rate: 1.0e-3", "learning_rate: fast", "pretrain"),
            [r"AB-100 .*pretrain.all.optim.learning_rate: .*found text 'fast'\n  write a number, without quotes.*"],
            id="100 text for a number",
        ),
        pytest.param(
            demo("init: scratch", "init: 2026-01-01"),
            [r"AB-100 .*ladder.starts.small.init: .*found a date 2026-01-01\n  write it in quotes"],
            id="102 a date for text",
        ),
        pytest.param(
            demo("lowercase: true", "lowercase: yes", "tokenizer"),
            [r"AB-100 .*tokenizer.all.lowercase: .*found text 'yes'\n  write true or false, without quotes"],
            id="102 yes",
        ),
        pytest.param(
            demo("min_frequency: 2", "min_frequency: 2\n    min_frequency: 3", "tokenizer"),
            [r"AB-103 params.yaml:\d+: key 'min_frequency' twice .*\n  keep one of the two"],
            id="103 duplicate key",
        ),
        pytest.param(
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in ("ab", "bc", "cd", "de")),
            [r"AB-104 params.yaml: more than 10,000 values\n  remove the anchors, .*"],
            id="104 alias bomb",
        ),
        pytest.param(
            "a: !!python/object:os.system {}\n", [r"AB-106 params.yaml:1: tag not allowed .*"], id="106 python tag"
        ),
        pytest.param("a: " + "x" * 1_000_001, [r"AB-107 params.yaml: 1,000,004 bytes, more than 1 MB\n.*"], id="107"),
        pytest.param("", [r"AB-108 params.yaml: expected a mapping, found nothing\n.*"], id="108 empty"),
        pytest.param("- a\n", [r"AB-108 params.yaml: expected a mapping, found a list\n.*"], id="108 list"),
        pytest.param(
            demo("learning_rate: 1.0e-3", "learning_rate: 0.0", "pretrain"),
            [r"AB-109 .*pretrain.all.optim.learning_rate: 0.0 is out of range\n  it should be greater than 0"],
            id="109 learning rate 0",
        ),
        pytest.param(
            demo("heads: 4", "heads: 3"),
            [r"AB-111 .*ladder.starts.small.encoder: hidden_size 256 % heads 3 = 1, not 0\n.*"],
            id="110 heads",
        ),
        pytest.param(
            demo("{tokens: 600_000}", "{tokens: 10, steps: 10}", "domain_transfer"),
            [r"AB-111 .*domain_transfer.all.budget: give one of tokens, passes and steps, found .*"],
            id="111 two budgets",
        ),
        pytest.param(
            demo("betas: [0.9, 0.98]", "betas: 0.9", "pretrain"),
            [r"AB-100 .*optim.betas: expected a list, found a number 0.9\n  .* in brackets: \[0.9, \.\.\.\]"],
            id="100 a number for a list",
        ),
        *(
            pytest.param(
                demo("labels: 600 ", f"search: {{trials: 4, seeds: 1, {search}}}\n    labels: 600 ", "finetune"),
                [rf"AB-111 .*search: {problem}.*\n  write e.g. \[{remedy}\]"],
                id=f"111 {search}",
            )
            for search, problem, remedy in (
                ("learning_rate: [1e-5, 1e-4], epochs: []", r"epochs \[\]", "3, 5"),
                ("learning_rate: [1e-5, 1e-4], global_batch_size: [8, 8]", r"global_batch_size \[8, 8\]", "16, 32"),
                ("learning_rate: [2e-5, 1e-5]", r"learning_rate \[2e-05, 1e-05\]", "1.0e-5, 2.0e-4"),
            )
        ),
        pytest.param(
            demo("labels: 600 ", "early_stopping: true\n    labels: 600 ", "finetune"),
            [r"AB-100 .*all.early_stopping: expected a mapping, found a boolean True\n  its keys are patience"],
            id="100 a boolean for a mapping",
        ),
        pytest.param(
            demo("tokens: 600_000", "tokens: 12k", "pretrain"),
            [r"AB-100 .*budget.tokens: expected an integer, found text '12k'\n  write a whole number, without .*"],
            id="100 a number with a unit",
        ),
        pytest.param(
            demo("lowercase: true", "lowercase: “true", "tokenizer"),
            [r"AB-100 .*lowercase: .*\n  a curly quote \(U\+201C\) stands in it: write a straight one"],
            id="100 a curly quote",
        ),
        pytest.param(
            demo("dictionary: data/sources/words.txt", "dictionary:"),
            [r"AB-100 .*tokenize.all.words.dictionary: expected text, found nothing\n  write a value behind .*"],
            id="100 nothing",
        ),
        pytest.param(
            demo("confidence: 0.95", f"confidence: {'x' * 900_000}"),
            [r"AB-100 .*expected a number, found text 'x{79}... \(900,002 characters\)\n.*"],
            id="100 a long value is shown short",
        ),
        pytest.param(
            demo("unit: token", "unit: words", "pretrain"),
            [r"AB-100 .*masking.unit: expected 'token', .*, found text 'words'\n  write word"],
            id="100 another word",
        ),
        pytest.param(
            demo("min_characters: 2 ", "min_characters: 300000 ", "validate"),
            [r"AB-111 .*validate: min_characters 300000 > max_characters 200000\n  change one of them"],
            id="111 lengths",
        ),
        pytest.param(DEMO.encode("utf-16"), [r"AB-114 params.yaml: byte 0 is not UTF-8\n.*"], id="114 UTF-16"),
        pytest.param(
            demo("weight_decay: 0.01", "weight_decay: .nan", "pretrain"),
            [r"AB-117 .*pretrain.all.optim.weight_decay: nan is not finite\n  write a number"],
            id="117 NaN",
        ),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, expected: list[str]) -> None:
    messages = errors(tmp_path, content)
    assert len(messages) == len(expected), messages
    for line, pattern in zip(sorted(messages), sorted(expected), strict=True):
        assert re.fullmatch(pattern, line, re.DOTALL), line


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        pytest.param("learning_rate: 1.0e-3", "learning_rate: 1e-5", "pretrain", id="101 1e-5 is a number"),
        pytest.param("clip_norm: 1.0", "clip_norm: 1", "pretrain", id="an integer is a number"),
        pytest.param("optim: {", "optim: &o {", "pretrain", id="104 an anchor"),
    ],
)
def test_accepted(tmp_path: Path, old: str, new: str, section: str) -> None:
    assert errors(tmp_path, demo(old, new, section)) == []


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_line_ends_and_byte_order_mark_do_not_matter(tmp_path: Path, change: "type[str]") -> None:
    """114."""
    assert errors(tmp_path, change(DEMO)) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "a folder, not a file\n  move it away, then run `adaptbert use demo` to write one"),
        (os.mkfifo, "a pipe, a socket or a device, not a file\n  move it away"),
        (lambda path: path.symlink_to("there.yaml"), "a link to there.yaml, which is not there\n  remove it, then run"),
        (lambda _: None, "file not found\n  run `adaptbert use demo` to write one"),
    ],
)
def test_what_stands_in_place_of_the_file(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    make(tmp_path / "params.yaml")
    with pytest.raises(BadParams) as caught:
        params.read(tmp_path / "params.yaml")
    assert str(caught.value).startswith(f"AB-108 {tmp_path}/params.yaml: {words}")
