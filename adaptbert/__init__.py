"""adaptbert: measures which steps of domain adaptation improve an encoder on a task, and what each step costs.

The public interface, for notebooks and programs (docs/how-to/predict.md); what else lies below may change.

    adaptbert.run()                                               # train what is out of date
    adaptbert.read_comparison(), adaptbert.read_differences()     # tables of pandas
    adaptbert.Checkpoint.load("models/pretrain/base").encoder()
    adaptbert.Predictor.load("models/finetune/mood-general-base").frame(["A good day."])
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptbert.commands.run import run
    from adaptbert.comparison.frames import read_comparison, read_differences
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.prediction.predictor import Predictor
else:

    def __getattr__(name: str) -> Any:
        """Each is imported when it is used, so that no command and no stage waits for what it does not need."""
        match name:
            case "Checkpoint":
                from adaptbert.model.checkpoint import Checkpoint as value
            case "Predictor":
                from adaptbert.prediction.predictor import Predictor as value
            case "read_comparison":
                from adaptbert.comparison.frames import read_comparison as value
            case "read_differences":
                from adaptbert.comparison.frames import read_differences as value
            case "run":
                from adaptbert.commands.run import run as value
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return value


__all__ = ["Checkpoint", "Predictor", "read_comparison", "read_differences", "run"]


def __dir__() -> list[str]:
    return __all__
