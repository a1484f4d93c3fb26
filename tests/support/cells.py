"""Cells of the comparison in a folder of their own: labelled sets, two checkpoints to start from, and the stage."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import read_json
from adaptbert.tasks.module import FineTuning
from adaptbert.training.resume import Work
from stages.finetune import finetune
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.short_runs import Stop

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

    def finetune_over_kills(
        self, kills: Iterable[int], monkeypatch: pytest.MonkeyPatch, task: str, arm: str, **changes: Any
    ) -> int:
        """Fine-tune a cell whose process is killed after so many training steps, again and again until it ends.

        Returns:
            How many training steps were taken in all.
        """
        left, done, step = [*kills], 0, FineTuning.training_step

        def counted(module: Any, *arguments: Any) -> Any:
            nonlocal done
            if left and done == left[0]:
                left.pop(0)
                raise Stop
            done += 1
            return step(module, *arguments)

        monkeypatch.setattr(FineTuning, "training_step", counted)
        monkeypatch.setattr(tiny, "work", lambda beside: Work(self.root / ".work", code=""))
        while left:
            with pytest.raises(Stop):
                self.finetune(task, arm, **changes)
        self.finetune(task, arm, **changes)
        return done

    def outputs(self) -> dict[str, bytes]:
        return tiny.folder_bytes(self.root, "models/finetune", "predictions", "metrics")

    def predictions(self, cell: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.root / f"predictions/{cell}.parquet").to_pylist()
        return rows
