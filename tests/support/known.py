"""What a test knows to be there."""

from typing import TypeVar

from adaptbert.comparison.records import Answer, Task

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    assert value is not None
    return value


def answer_to(task: Task, name: str) -> Answer:
    """The answer to the question of this name."""
    return next(answer for answer in task.answers if answer.name == name)
