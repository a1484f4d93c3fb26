"""Every bad params.yaml of the catalogue (99 to 118): key, value and remedy, before anything runs."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.config import load
from adaptbert.errors import BadParams, UserError
from tests.support.commands import DEMO
from tests.support.messages import messages_in
from tests.support.rules import refusals


def errors(folder: Path, content: str | bytes) -> list[str]:
    """The errors of a params.yaml with this content."""
    path = folder / "params.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        messages = refusals(load.read(path), path)
    except UserError as error:
        messages = messages_in(str(error))
    return [line.replace(f"{folder}/", "") for line in messages]


def demo(section: str, values: str) -> str:
    """The demo with another section; a line of the file."""
    lines = DEMO.splitlines()
    kept = [line for line in lines if not line.startswith(f"{section}:")]
    return "\n".join([*kept, f"{section}: {values}", ""])


def base(**sizes: object) -> str:
    old = "{layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512}"
    assert old in DEMO
    values = {"layers": 2, "hidden_size": 256, "heads": 4, "intermediate_size": 1024, "max_positions": 512, **sizes}
    return DEMO.replace(old, f"{{{', '.join(f'{name}: {value}' for name, value in values.items())}}}")


def pretrain(values: str) -> str:
    return demo("pretrain", f"{{tokens: 600_000, {values}}}")


def test_the_demo_is_all_right(tmp_path: Path) -> None:
    assert errors(tmp_path, DEMO) == []


SEARCHES = (
    ("learning_rate: [1e-5, 1e-4], epochs: []", r"epochs \[\]", "3, 5"),
    ("learning_rate: [1e-5, 1e-4], global_batch_size: [8, 8]", r"global_batch_size \[8, 8\]", "16, 32"),
    ("learning_rate: [2e-5, 1e-5]", r"learning_rate \[2e-05, 1e-05\]", "1.0e-5, 2.0e-4"),
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            pretrain("learning_rat: 1"),
            r"AB-099 .*: pretrain.learning_rat: unknown key .* \(did you mean 'learning_rate'\?\)\n  known: .*",
            id="099 unknown key",
        ),
        pytest.param(
            DEMO + "\npretrian: {}\n",
            r"AB-099 .*: pretrian: unknown key 'pretrian' \(did you mean 'pretrain'\?\)\n  known: .*",
            id="099 unknown section",
        ),
        pytest.param(
            base(layer=2),
            r"AB-099 .*: bases.small.layer: unknown key 'layer' \(did you mean 'layers'\?\)\n  known: checkpoint, .*",
            id="099 unknown key of a base",
        ),
        pytest.param(
            demo("arms", "{far: {domain: domain}}"),
            r"AB-099 .*: arms.far.domain: unknown key 'domain'.*\n  known: again, bases, domain_transfer, .*",
            id="099 unknown key of an arm",
        ),
        pytest.param(
            DEMO.replace("\ntasks:", "\ntask:"),
            [
                r"AB-099 .*: tasks: is missing\n  add it",
                r"AB-099 .*: task: unknown key 'task' \(did you mean 'tasks'\?\).*",
            ],
            id="099 section mistyped",
        ),
        pytest.param(
            demo("finetune", "{tag_scheme: bio}"),
            r"AB-099 .*finetune.tag_scheme: unknown key 'tag_scheme'.*",
            id="099 a key of a task",
        ),
        pytest.param(
            pretrain("learning_rate: fast"),
            r"AB-109 .*pretrain.learning_rate: .*found text 'fast'\n  write a number, without quotes.*",
            id="100 text for a number",
        ),
        pytest.param(
            DEMO.replace("path: data/own/demo/general.jsonl", "path: 2026-01-01"),
            r"AB-109 .*corpora.general.path: .*found a date 2026-01-01\n  write it in quotes",
            id="102 a date for text",
        ),
        pytest.param(
            demo("tokenizer", "{lowercase: yes}"),
            r"AB-109 .*tokenizer.lowercase: .*found text 'yes'\n  write true or false, without quotes",
            id="102 yes",
        ),
        pytest.param(
            demo("tokenizer", "{min_frequency: 2, min_frequency: 3}"),
            r"AB-114 params.yaml:\d+: key 'min_frequency' twice .*\n  keep one of the two",
            id="103 duplicate key",
        ),
        pytest.param(
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in ("ab", "bc", "cd", "de")),
            r"AB-114 params.yaml: more than 10,000 values\n  remove the anchors, .*",
            id="104 alias bomb",
        ),
        pytest.param("a: !!python/object:os.system {}\n", r"AB-114 params.yaml:1: tag not allowed .*", id="106"),
        pytest.param("a: " + "x" * 1_000_001, r"AB-114 params.yaml: 1,000,004 bytes, more than 1 MB\n.*", id="107"),
        pytest.param("", r"AB-114 params.yaml: expected a mapping, found nothing\n.*", id="108 empty"),
        pytest.param("- a\n", r"AB-114 params.yaml: expected a mapping, found a list\n.*", id="108 list"),
        pytest.param(
            pretrain("learning_rate: 0.0"),
            r"AB-109 .*pretrain.learning_rate: 0.0 is out of range\n  it should be greater than 0",
            id="109 learning rate 0",
        ),
        pytest.param(
            base(heads=3),
            r"AB-111 .*bases.small: hidden_size 256 % heads 3 = 1, not 0\n  write heads: 2, or a .*",
            id="110 heads",
        ),
        pytest.param(
            demo("domain_transfer", "{tokens: 10, steps: 10}"),
            r"AB-111 .*domain_transfer: give one of tokens, passes, steps, found .*\n  keep one",
            id="111 two budgets",
        ),
        pytest.param(
            pretrain("betas: 0.9"),
            r"AB-109 .*pretrain.betas: expected a list, found a number 0.9\n  .* in brackets: \[0.9, \.\.\.\]",
            id="100 a number for a list",
        ),
        *(
            pytest.param(
                demo("finetune", f"{{search: {{trials: 4, seeds: 1, {search}}}}}"),
                rf"AB-111 .*search: {problem}.*\n  write e.g. \[{remedy}\]",
                id=f"111 {search}",
            )
            for search, problem, remedy in SEARCHES
        ),
        pytest.param(
            demo("finetune", "{early_stopping: true}"),
            r"AB-109 .*finetune.early_stopping: expected a mapping, found a boolean True\n  its keys are patience",
            id="100 a boolean for a mapping",
        ),
        pytest.param(
            demo("finetune", "{seeds: 0}"),
            r"AB-109 .*finetune.seeds: 0 is out of range\n  write how many, from 1 to 100, or a list",
            id="109 no seed",
        ),
        pytest.param(
            demo("domain_transfer", "{tokens: 12k}"),
            r"AB-109 .*domain_transfer.tokens: expected an integer, found text '12k'\n  write a whole number, .*",
            id="100 a number with a unit",
        ),
        pytest.param(
            demo("tokenizer", "{lowercase: “true}"),
            r"AB-109 .*lowercase: .*\n  a curly quote \(U\+201C\) stands in it: write a straight one",
            id="100 a curly quote",
        ),
        pytest.param(
            demo("tokenize", "{words: {dictionary: }}"),
            r"AB-109 .*tokenize.words.dictionary: expected text, found nothing\n  write a value behind .*",
            id="100 nothing",
        ),
        pytest.param(
            demo("compare", f"{{confidence: {'x' * 900_000}}}"),
            r"AB-109 .*expected a number, found text 'x{79}... \(900,002 characters\)\n.*",
            id="100 a long value is shown short",
        ),
        pytest.param(
            demo("compare", "{min_gain: 0}"),
            r"AB-109 .*compare.min_gain: 0 is out of range\n  it should be greater than 0",
            id="109 a gain worth having",
        ),
        pytest.param(
            pretrain("masking: {unit: words}"),
            r"AB-109 .*pretrain.masking.unit: expected 'token', .*, found text 'words'\n  write word",
            id="100 another word",
        ),
        pytest.param(
            demo("validate", "{min_characters: 300000}"),
            r"AB-111 .*validate: min_characters 300000 > max_characters 200000\n  change one of them",
            id="111 lengths",
        ),
        *(
            pytest.param(
                demo("seed", str(seed)),
                rf"AB-109 .*: seed: {seed} is out of range\n  it should be .*",
                id=f"109 seed {seed}",
            )
            for seed in (-1, 2**64)
        ),
        *(
            pytest.param(
                demo("seed", seed),
                r"AB-109 .*: seed: expected an integer, found .*\n  write a whole number, without quotes and units",
                id=f"100 seed {seed}",
            )
            for seed in ("true", "'1'")
        ),
        pytest.param(DEMO.encode("utf-16"), r"AB-114 params.yaml: byte 0 is not UTF-8\n.*", id="114 UTF-16"),
        pytest.param(
            pretrain("weight_decay: .nan"),
            r"AB-109 .*pretrain.weight_decay: nan is not finite\n  write a number",
            id="117 NaN",
        ),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, expected: str | list[str]) -> None:
    messages = errors(tmp_path, content)
    patterns = [expected] if isinstance(expected, str) else expected
    assert len(messages) == len(patterns), messages
    for line, pattern in zip(sorted(messages), sorted(patterns), strict=True):
        assert re.fullmatch(pattern, line, re.DOTALL), line


@pytest.mark.parametrize(
    "values",
    [
        pytest.param("learning_rate: 1e-5", id="101 1e-5 is a number"),
        pytest.param("clip_norm: 1", id="an integer is a number"),
        pytest.param("betas: &o [0.9, 0.98]", id="104 an anchor"),
    ],
)
def test_accepted(tmp_path: Path, values: str) -> None:
    assert errors(tmp_path, pretrain(values)) == []


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
        load.read(tmp_path / "params.yaml")
    assert str(caught.value).startswith(f"AB-114 {tmp_path}/params.yaml: {words}")
