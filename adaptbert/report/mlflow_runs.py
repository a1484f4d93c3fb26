"""The MLflow runs behind the rows of the page, as filters: the page knows no run and no server.

Equal results have equal pages, on whatever machine and however often the stages ran (docs/decisions/0003), so there is
neither a run id nor the address of a server in it. Tags find the runs; the reader writes the address into the page.
"""

from adaptbert.comparison.records import Arm, Task

ADDRESS = "http://127.0.0.1:5000/#/experiments/1"
"""Of the experiment in MLflow, as the command starts it in a new project."""
COMMAND = "mlflow server --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5000 --workers 1"
"""The first part needs the .venv of the project; see docs/how-to/compare-in-mlflow.md."""


def cells_of(task: Task) -> str:
    """The filter of all cells of a task from one start; names of params.yaml have no quotes."""
    return f"tags.stage = 'finetune' and tags.task = '{task.task}' and tags.base = '{task.base}'"


def cells_of_arm(task: Task, arm: Arm) -> str:
    """The filter of the cells of an arm: one for each draw, and for each time that a stage ran."""
    return f"{cells_of(task)} and tags.arm = '{arm.name}'"


def order(task: Task) -> str:
    """What the runs are sorted by; sorted by a metric, MLflow lists cells without their recipe around them."""
    return f"metrics.`test/{task.metric}`"
