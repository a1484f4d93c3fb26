"""A small ladder for the tests of rungs: its folders, and the stages with the paths that dvc.yaml gives them."""

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import DomainTransfer, Pretrain, TaskTransfer
from adaptbert.core.files import read_json
from adaptbert.errors import BadData
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


class Ladder:
    """A project's folders, and its stages with the paths that dvc.yaml gives them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tiny.tokenizer().save(self.made("data/tokenizer"))
        for kind in tiny.WORDS:
            tiny.corpus(self.made("data/corpora") / kind, kind, 120)
        tiny.corpus(self.made("data/tasks") / "section", "domain", 40, seed=10)
        tiny.heldout(self.made("data/heldout"), tasks=["section"])

    def made(self, folder: str) -> Path:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        return self.root / folder

    def metrics(self, name: str) -> dict[str, Any]:
        return read_json(self.root / f"metrics/{name}.json")

    def pretrain(self, seed: int = 1, **changes: Any) -> None:
        weights = Base(checkpoint=changes.pop("checkpoint")) if "checkpoint" in changes else changes.pop("base", SMALL)
        with chdir(self.root):  # params.yaml names models/init/small
            pretrain(
                Pretrain(**tiny_params.rung_values(**changes)),
                base="small",
                weights=weights,
                seed=seed,
                measure=tiny_params.MEASURE,
                tokenizer=self.root / "data/tokenizer",
                text=self.root / "data/corpora/general",
                heldout=self.root / "data/heldout",
                scratch=self.root / "models/scratch/small",
                out=self.root / "models/pretrain/small",
                metrics=self.root / "metrics/pretrain/small.json",
                work=tiny.work(self.root),
                run=tiny.no_record(),
            )

    def domain_transfer(
        self, corpus: str = "domain", replay: float = 0.1, seed: int = 1, replicate: str = "1", **changes: Any
    ) -> None:
        domain_transfer(
            DomainTransfer(**tiny_params.rung_values(**changes), replay_fraction=replay),
            corpus=corpus,
            base="small",
            replicate=replicate,
            seed=seed,
            measure=tiny_params.MEASURE,
            init=self.root / "models/pretrain/small",
            text=self.root / f"data/corpora/{corpus}",
            replay=self.root / "data/corpora/general",
            heldout=self.root / "data/heldout",
            out=self.root / f"models/domain_transfer/{corpus}-small-1",
            metrics=self.root / f"metrics/domain_transfer/{corpus}-small-1.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )

    def task_transfer(self, **changes: Any) -> None:
        task_transfer(
            TaskTransfer(**tiny_params.rung_values(**changes)),
            task="section",
            base="small",
            replicate="1",
            seed=1,
            measure=tiny_params.MEASURE,
            init=self.root / "models/domain_transfer/domain-small-1",
            text=self.root / "data/tasks/section",
            heldout=self.root / "data/heldout",
            out=self.root / "models/task_transfer/section-domain-small-1",
            metrics=self.root / "metrics/task_transfer/section-domain-small-1.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )

    def measure(self, rung: str) -> dict[str, Any]:
        """The measures on each text."""
        measure(
            tiny_params.MEASURE,
            checkpoint=rung,
            base="small",
            replicate="1",
            seed=1,
            init=self.root / "models" / rung,
            heldout=self.root / "data/heldout",
            metrics=self.root / "measured.json",  # beside the outputs of the rungs
            run=tiny.no_record(),
        )
        texts: dict[str, Any] = read_json(self.root / "measured.json")["texts"]
        return texts

    def outputs(self) -> dict[str, bytes]:
        return tiny.folder_bytes(self.root, "models", "metrics")


def refused(ladder: Ladder, train: Any, message: str) -> None:
    """With this message, before anything is trained or written."""
    before = ladder.outputs()
    with pytest.raises(BadData, match=message):
        train()
    assert ladder.outputs() == before
    hidden = [path for path in ladder.root.rglob(".*") if ".part" in path.name]
    assert hidden == []
