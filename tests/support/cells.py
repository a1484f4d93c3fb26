"""Cells of the comparison in a folder of their own: labelled sets, two checkpoints to start from, and the stage."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import read_json
from stages.finetune import finetune
from tests.support import tiny, tiny_params, tiny_tasks

Kinds = Mapping[str, tuple[str, str]]


class Project:
    """The stage with the paths that dvc.yaml gives it.

    Args:
        kinds: task -> shape and target.
        rows: of train, dev and test.
    """

    def __init__(self, root: Path, kinds: Kinds, rows: tuple[int, int, int] = (96, 24, 32)) -> None:
        self.root, self.kinds = root, kinds
        for task, (shape, target) in kinds.items():
            tiny_tasks.task(root / "data" / task, shape, rows, target)
        tiny.scratch(root / "models/scratch")
        tiny.pretrained(root / "models/pretrain")

    def finetune(
        self, task: str, arm: str, options: Mapping[str, Any] | None = None, replicate: int = 0, **changes: Any
    ) -> dict[str, Any]:
        """The metrics of the cell.

        Args:
            options: of the shape, where they are not the usual ones.
        """
        shape, _ = self.kinds[task]
        own = tiny_tasks.options(shape, **(options or {})).model_dump(exclude_none=True)
        finetune(
            Finetune(**tiny_params.cell_values(**own, **changes)),
            task=task,
            arm=arm,
            base="small",
            replicate=str(replicate),
            init=self.root / "models" / ("scratch" if arm == "scratch" else "pretrain"),
            data=self.root / "data" / task,
            out=self.root / f"models/finetune/{task}-{arm}",
            predictions=self.root / f"predictions/{task}-{arm}.parquet",
            metrics=self.root / f"metrics/{task}-{arm}.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )
        return read_json(self.root / f"metrics/{task}-{arm}.json")

    def outputs(self) -> dict[str, bytes]:
        return tiny.folder_bytes(self.root, "models/finetune", "predictions", "metrics")

    def predictions(self, cell: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.root / f"predictions/{cell}.parquet").to_pylist()
        return rows
