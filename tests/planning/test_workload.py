"""`adaptbert plan` and `check` tell before training which tasks get too few optimizer steps for their classes."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.data.task_description import TaskDescription
from adaptbert.planning.workload import Amounts, notices, trainings
from tests.support.checked_files import lines, mood, words, write, write_document
from tests.support.commands import run


def labelled(name: str, rows: int, classes: int = 12, seed: int = 0) -> str:
    return lines(name, *({"text": words(seed + n), "label": f"c{n % classes}"} for n in range(rows)))


def of_task(name: str = "mood") -> list[str]:
    recipe = recipes.read()
    every = trainings(recipe, plan_file.expand(recipe), Amounts(recipe))
    return [line for line in notices(recipe, every) if f" {name}: " in line]


FEW = "for 12 classes: models this short often predict one class"


@pytest.mark.parametrize(
    ("rows", "classes", "options", "said"),
    [
        (400, 12, {"epochs": 3}, f"38 steps {FEW}; raise epochs to 19"),
        (900, 12, {"epochs": 3, "labels": 400}, f"38 steps {FEW}; raise epochs to 19, or raise labels"),
        (400, 12, {"epochs": 20}, None),
        (400, 12, {"epochs": 12, "learning_rate": 1e-3}, None),  # 150 at 2.5 times the usual rate of random weights
        (
            400,
            12,
            {"epochs": 10, "learning_rate": 4e-3},
            "125 steps for 12 classes at 10 times the usual learning rat",
        ),
        (400, 12, {"epochs": 8, "learning_rate": 2e-4}, "100 steps for 12 classes at 0.5 times the usual learning rat"),
        (400, 12, {"epochs": 10, "labels": 100}, f"31 steps {FEW}"),
        (400, 12, {"epochs": 3, "labels": 9_000}, "38 steps for 12 classes"),
        (400, 12, {"epochs": 1.5, "global_batch_size": 16, "micro_batch_size": 16}, "38 steps for 12 classes"),
        (30_000, 12, {"epochs": 1}, None),
        (30_000, 12, {"epochs": 1, "labels": 320}, "10 steps for 12 classes"),
        (900, 12, {"epochs": 4, "labels": 800}, "100 steps for 12 classes"),
        (240, 2, {"epochs": 14}, None),
        (240, 2, {"epochs": 12}, "90 steps for 2 classes: "),
    ],
)
def test_steps_follow_from_rows_labels_epochs_and_batches(
    own: Path, rows: int, classes: int, options: dict[str, Any], said: str | None
) -> None:
    """The first rows of a large file tell its classes, and nothing tells how many rows it has."""
    write(None, {"labels": 0} | options, mood=mood(train=labelled("train.jsonl", rows, classes)))
    assert [line.partition("epochs: mood: ")[2][: len(said or "")] for line in of_task()] == [said] * (said is not None)


@pytest.mark.parametrize(("labels", "shown"), [(100, 68), (300, 110), (0, None), (1_200, None), (2_000, None)])
def test_labels_that_show_few_of_the_classes(own: Path, labels: int, shown: int | None) -> None:
    """Also after validation, whose rows are counted."""
    train = labelled("train.jsonl", 1_200, classes=120)
    write(None, {"labels": labels, "epochs": 1_000}, mood=mood(train=train))
    said = f"finetune.labels: mood: the {labels} rows of a seed show about {shown} of the 120 classes that it is scored"
    for _ in range(2):
        assert [said in line for line in of_task()] == [True] * (shown is not None)
        folder = Path("data/validated/tasks/mood")
        folder.mkdir(parents=True, exist_ok=True)
        labels_of_all = sorted(f"c{n}" for n in range(120))
        TaskDescription(type="text-classification", labels=labels_of_all, rows={"train": 1_200}).write(folder)


def test_an_output_of_an_older_version_is_left_alone(own: Path) -> None:
    write(None, {"labels": 100, "epochs": 1_000}, mood=mood(train=labelled("train.jsonl", 1_200, classes=120)))
    before, folder = of_task(), Path("data/validated/tasks/mood")
    folder.mkdir(parents=True)
    (folder / "task.json").write_text('{"type": "older"}', encoding="utf-8")
    assert of_task() == before


def planned(**changes: Any) -> list[str]:
    """What `plan` says of domain transfer from a public base; only these arms are trained."""
    document = params.read(Path("params.yaml")) | {"base": "models/init/public", "pretrain": {}}
    document |= {"domain_transfer": {"replay_fraction": 0.0}, **changes}
    del document["bases"]
    write_document(document)
    said = run("plan").stdout.splitlines()
    return [" ".join(line.split()) for line in said if "domain_transfer" in line]


def test_steps_of_masked_language_modelling_are_told(own: Path) -> None:
    """Exact where the length follows from no text, else about; the remedy names a batch only where one is smaller."""
    write({"posts": lines("posts.jsonl", *({"text": words(n, 60)} for n in range(2000)))})
    small = {"tokens": 40_960, "global_batch_tokens": 1024, "micro_batch_tokens": 1024}
    arms = {"general": {}, "posts": {"domain_transfer": "posts"}, "long": {"domain_transfer": "general"}}
    assert planned(arms=arms, overrides={"general": {"domain_transfer": small}}) == [
        "domain_transfer posts public 1 x about 130,000 tokens, 4 steps, about 1.1 passes",
        "domain_transfer general public 1 x 40,960 tokens, 40 steps, about 34 passes",
        "notice: params.yaml: domain_transfer.passes: posts: 4 steps of 32,768 tokens: too few to learn much from; "
        "write tokens: 1_638_400, or global_batch_tokens: 1_024",
        "notice: params.yaml: overrides.general.domain_transfer.tokens: general: 40 steps of 1,024 tokens: too few to "
        "learn much from; write tokens: 51_200",
    ]


@pytest.mark.parametrize(
    ("driver", "device", "said"),
    [
        (
            "/usr/bin/nvidia-smi",
            "cuda",
            "notice: a GPU waits for its host in steps of fewer than 16,384 tokens; larger ones, which train another "
            "model: params.yaml: domain_transfer.global_batch_tokens: 8_192 in place of 4_096, params.yaml: "
            "overrides.general.domain_transfer.global_batch_tokens and micro_batch_tokens: 16_384 in place of 1_024",
        ),
        ("/usr/bin/nvidia-smi", "cpu", None),
        (None, "cuda", None),
    ],
)
def test_steps_in_which_a_gpu_waits_are_told_where_there_is_one(
    own: Path, monkeypatch: pytest.MonkeyPatch, driver: str | None, device: str, said: str | None
) -> None:
    """And only where larger ones would not be too few."""
    monkeypatch.setattr("adaptbert.planning.workload.shutil.which", lambda _: driver)
    monkeypatch.setattr("adaptbert.model.device.fastest_device", lambda: torch.device(device))
    write({"posts": lines("posts.jsonl", *({"text": words(n, 60)} for n in range(50)))})
    written = {"tokens": 4_000_000, "global_batch_tokens": 1024, "micro_batch_tokens": 1024}
    arms = {"posts": {"domain_transfer": "posts"}, "long": {"domain_transfer": "general"}}
    step = {"replay_fraction": 0.0, "tokens": 1_700_000, "global_batch_tokens": 4096}
    notices = planned(arms=arms, domain_transfer=step, overrides={"general": {"domain_transfer": written}})
    assert [line for line in notices if "waits" in line] == [said] * (said is not None)


@pytest.mark.parametrize(("is_old", "said"), [(False, "1 x 851,968 tokens, 26 steps"), (True, "1 x about ")])
def test_what_the_stages_counted_is_exact_as_long_as_the_file_is_the_same(own: Path, is_old: bool, said: str) -> None:
    write({"posts": lines("posts.jsonl", *({"text": words(n)} for n in range(50)))})
    counted = Path("data/tokenized/public/corpora/posts/corpus.json")
    counted.parent.mkdir(parents=True)
    counted.write_text('{"texts": 5134, "tokens": 862224}')
    os.utime("data/own/posts.jsonl", (counted.stat().st_mtime + (10 if is_old else -10),) * 2)
    assert said in planned(arms={"posts": {"domain_transfer": "posts"}})[0]


def test_what_has_no_classes_and_what_is_cut(own: Path) -> None:
    rated = lines("rated.jsonl", *({"text": words(n), "value": n} for n in range(90)))
    files, cut = dict.fromkeys(("train", "dev", "test"), rated), {"split": {"dev": 0.25, "test": 0.25}}
    write(None, {"labels": 0, "epochs": 8}, mood={"type": "regression", **files, **cut})
    assert "mood: 11 steps: models this short have hardly begun to learn; raise epochs to 73" in of_task()[0]


def test_validated_rows_win_and_what_cannot_be_read_is_left_to_check(own: Path) -> None:
    write(None, {"labels": 0, "epochs": 3}, mood=mood(train=labelled("train.jsonl", 400)))
    folder = Path("data/validated/tasks/mood")
    folder.mkdir(parents=True)
    TaskDescription(type="text-classification", labels=["a", "b"], rows={"train": 9_000}).write(folder)
    assert of_task() == []
    write(None, {"labels": 0, "epochs": 3}, posts=mood(train="data/own/nowhere.jsonl"))
    assert of_task("posts") == []


@pytest.mark.parametrize(
    ("options", "length", "said"),
    [
        ({}, 40, None),
        ({}, 300, "one row in ten has more than about 310 tokens, of which 64 are read; "),
        ({"long_text": "head_tail"}, 300, "one row in ten has more than about 310 tokens, of which 64 are read; "),
        ({"long_text": "windows"}, 300, None),
        ({"max_length": 512, "block_size": 512}, 300, None),
    ],
)
def test_rows_that_are_cut_are_told(own: Path, options: dict[str, Any], length: int, said: str | None) -> None:
    """A tenth of the rows, but not fewer: some texts are always long."""
    rows = [{"text": f"{words(n)} {'ab ' * (length if n % 9 == 0 else 3)}", "label": "ab"[n % 2]} for n in range(300)]
    write(None, {"epochs": 100} | options, mood=mood(train=lines("train.jsonl", *rows)))
    of_lengths = [line.partition("finetune.max_length: mood: ")[2] for line in of_task() if "max_length" in line]
    assert [said is not None and line.startswith(said) for line in of_lengths] == [True] * (said is not None)
