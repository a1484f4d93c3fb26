"""The names of task types (what a row holds: `shape` in params.yaml) and of targets (what is to be predicted from it).

Each package describes them in one table: adaptbert.data.layout and .targets, finetuning.metrics.targets,
tasks.shapes and .targets, comparison.evaluation.baselines, report.terms.
tests/base/test_task_types.py names the table with a missing entry.
"""

from typing import Literal

TaskType = Literal["single_sentence", "sentence_pair", "extractive_answer", "sequence_labelling"]
Target = Literal["class", "labels", "number", "answer", "spans", "tags"]

TARGETS_OF: dict[TaskType, tuple[Target, ...]] = {
    "single_sentence": ("class", "labels", "number"),
    "sentence_pair": ("class", "labels", "number"),
    "extractive_answer": ("answer",),
    "sequence_labelling": ("spans", "tags"),
}
"""Task type -> the targets that it can have."""
