"""adaptbert: measures which steps of domain adaptation improve an encoder on a task, and what each step costs.

The public interface, for notebooks and programs (docs/how-to/predict.md); what else lies below may change.

    adaptbert.run()                                               # train what is out of date
    adaptbert.read_comparison(), adaptbert.read_differences()     # tables of pandas
    adaptbert.Checkpoint.load("models/pretrain/base").encoder()
    adaptbert.Predictor.load("models/finetune/mood-general-base").frame(["A good day."])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.prediction.predictor import Predictor
    from adaptbert.project.notebook import read_comparison, read_differences, run
else:
    _MODULES = {
        "Checkpoint": "adaptbert.model.checkpoint",
        "Predictor": "adaptbert.prediction.predictor",
        "read_comparison": "adaptbert.project.notebook",
        "read_differences": "adaptbert.project.notebook",
        "run": "adaptbert.project.notebook",
    }

    def __getattr__(name: str) -> Any:
        """Each is imported when it is used, so that no command and no stage waits for what it does not need."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)


__all__ = ["Checkpoint", "Predictor", "read_comparison", "read_differences", "run"]


def __dir__() -> list[str]:
    return __all__
