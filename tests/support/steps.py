"""A tiny project for the tests of masked-language modelling: its folders, and the stages with the paths of dvc.yaml."""

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import DomainTransfer, Pretrain, TaskTransfer
from adaptbert.core.files import read_json
from adaptbert.errors import BadData
from adaptbert.mlm.arguments import StepArguments
from stages.domain_transfer import domain_transfer
from stages.measure import measure
from stages.pretrain import pretrain
from stages.task_transfer import task_transfer
from tests.support import tiny, tiny_params

SCRATCH, PRETRAIN = "scratch/small", "pretrain/small"
GENERAL, DOMAIN = "domain_transfer/general-small-1", "domain_transfer/domain-small-1"
TASK = "task_transfer/section-domain-small-1"
"""Folders below models/, names of metrics below metrics/."""

SMALL = Base(layers=2, hidden_size=32, heads=2, intermediate_size=64, max_positions=tiny.POSITIONS)
LOCAL = Base(checkpoint="models/init/small")


class Steps:
    """Trains checkpoints below `models` of a folder; texts are made once."""

    def __init__(self, root: Path) -> None:
        self.root, self.init = root, root / "models/init/small"
        tiny.tokenizer().save(root / "data/tokenizer")
        for kind in tiny.WORDS:
            tiny.corpus(root / "data/corpora" / kind, kind, 120)
        tiny.corpus(root / "data/tasks/section", "domain", 40, seed=10)
        tiny.heldout(root / "data/heldout", tasks=["section"])

    def copy(self, root: Path) -> "Steps":
        """A copy with the texts and the general checkpoint alone, to be trained on or spoilt."""
        for folder in ("data", f"models/{SCRATCH}", f"models/{PRETRAIN}"):
            shutil.copytree(self.root / folder, root / folder)
        copy = Steps.__new__(Steps)
        copy.root, copy.init = root, root / "models/init/small"
        return copy

    def folder(self, checkpoint: str) -> Path:
        return self.root / "models" / checkpoint

    def metrics(self, checkpoint: str) -> dict[str, Any]:
        return read_json(self.root / f"metrics/{checkpoint}.json")

    def pretrain(self, base: Base = SMALL, seed: int = 1, text: str = "corpora/general", **changes: Any) -> None:
        with chdir(self.root):  # params.yaml names models/init/small
            pretrain(
                Pretrain(**tiny_params.step_values(**changes)),
                weights=base,
                tokenizer=self.root / "data/tokenizer",
                scratch=self.folder(SCRATCH),
                **self._common(PRETRAIN, text, seed),
            )

    def domain_transfer(
        self,
        corpus: str = "domain",
        replay: float = 0.1,
        seed: int = 1,
        replicate: str = "1",
        beside: str = "",
        **changes: Any,
    ) -> None:
        beside = beside or ("domain" if corpus == "general" else "general")
        domain_transfer(
            DomainTransfer(**tiny_params.step_values(**changes), replay_fraction=replay),
            corpus=corpus,
            replicate=replicate,
            init=self.folder(PRETRAIN),
            beside=self.root / "data/corpora" / beside,
            **self._common(f"domain_transfer/{corpus}-small-1", f"corpora/{corpus}", seed),
        )

    def task_transfer(self, beside: str = "general", **changes: Any) -> None:
        params = TaskTransfer(**tiny_params.step_values(**changes))
        common = self._common(TASK, "tasks/section", 1)
        heldout = self.root / "data/heldout" / beside
        task_transfer(params, task="section", replicate="1", init=self.folder(DOMAIN), beside=heldout, **common)

    def _common(self, checkpoint: str, text: str, seed: int) -> StepArguments:
        return {
            "base": "small",
            "seed": seed,
            "measure": tiny_params.MEASURE,
            "text": self.root / "data" / text,
            "heldout": self.root / "data/heldout",
            "out": self.folder(checkpoint),
            "metrics": self.root / f"metrics/{checkpoint}.json",
            "work": tiny.work(self.root),
            "run": tiny.no_record(),
        }

    def measure(self, checkpoint: str) -> dict[str, Any]:
        """The measures on each text."""
        measure(
            tiny_params.MEASURE,
            checkpoint=checkpoint,
            base="small",
            replicate="1",
            seed=1,
            init=self.folder(checkpoint),
            heldout=self.root / "data/heldout",
            metrics=self.root / "measured.json",  # beside the outputs of the steps
            run=tiny.no_record(),
        )
        texts: dict[str, Any] = read_json(self.root / "measured.json")["texts"]
        return texts

    def outputs(self) -> dict[str, bytes]:
        return tiny.folder_bytes(self.root, "models", "metrics")

    def refuse(self, train: Callable[[], None], message: str) -> None:
        """Expect this message, before anything is trained or written."""
        before, begun = self.outputs(), AssertionError("training has begun")
        with mock.patch("adaptbert.mlm.step.fit", side_effect=begun), pytest.raises(BadData, match=message):
            train()
        assert self.outputs() == before
        assert [path for path in self.root.rglob(".*") if ".part" in path.name] == []
