"""Modules on demand: a stage takes names of a large library without all else that its `__init__` imports.

Lightning wants two classes of torchmetrics, and gets 900 modules; MLflow loads judges of chats, a web server, pandas.
`NAMES` says where such names are defined. Whoever asks for another gets the whole module, as ever, only later; and so
it is where a version defines them elsewhere.
"""

import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any

NAMES: dict[str, dict[str, str]] = {
    "torchmetrics": {
        "__version__": "torchmetrics.__about__",
        "_logger": __name__,
        "Metric": "torchmetrics.utilities.checks",
        "MetricCollection": "torchmetrics.collections",
    },
    "torchmetrics.utilities.plot": dict.fromkeys(("_AX_TYPE", "_PLOT_OUT_TYPE", "plot_single_or_multi_val"), __name__),
    "mlflow": {"__version__": "mlflow.version:VERSION", "MlflowClient": "mlflow.tracking"},
    "mlflow.data": {"Dataset": "mlflow.data.dataset"},
    "mlflow.data.evaluation_dataset": {"EvaluationDataset": __name__},
    **{f"mlflow.{name}": {} for name in ("gateway", "genai", "genai.judges", "genai.scorers", "genai.scorers.online")},
    **{f"mlflow.{name}": {} for name in ("models", "models.evaluation")},
}
"""Module -> name -> module that defines it, after a colon by another name."""

_asked: list[ModuleType] = []


def load_on_demand() -> None:
    """Lets the modules of `NAMES` wait from here on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def load_whole(library: str) -> None:
    """Takes back what is loaded of a library: where its parts do not go together, it is loaded as ever."""
    for modules in (NAMES, sys.modules):
        for name in [name for name in modules if name.partition(".")[0] == library]:
            del modules[name]


class _Waiting(ModuleType):
    """A module whose code has not run: it runs when a name is asked for that `NAMES` does not have."""

    def __getattr__(self, name: str) -> Any:
        place = NAMES[self.__name__].get(name)
        if name == "__path__" or (place is None and self in _asked):  # who asks is half loaded, and has to fail
            raise AttributeError(name)
        if place is not None:
            _asked.append(self)
            with suppress(ImportError, AttributeError):
                module, _, other = place.partition(":")
                vars(self)[name] = getattr(import_module(module), other or name)
            _asked.remove(self)
        if name not in vars(self):
            self.run()
        return getattr(self, name)

    def run(self) -> None:
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__loader__.exec_module(self)  # type: ignore[union-attr]


class _Loader(LazyLoader):
    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__
        module.__spec__.loader = module.__loader__ = self.loader  # type: ignore[attr-defined]
        module.__class__ = _Waiting


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in NAMES and target is None else None
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader)
        return spec


def _real(module: str, name: str) -> Any:
    """What a stand-in stands for."""
    whole = import_module(module)
    if isinstance(whole, _Waiting):
        whole.run()
    return getattr(whole, name)


class _Class(type):
    """The class of stand-ins for classes that are asked about instances, which need no more than their name for it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return any((c.__module__, c.__name__) == (cls.__module__, cls.__name__) for c in type(instance).__mro__)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return _real(cls.__module__, cls.__name__)(*args, **options)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_real(cls.__module__, cls.__name__), name)


_logger = logging.getLogger("torchmetrics")
_AX_TYPE = _PLOT_OUT_TYPE = _Class("Axes", (), {"__module__": "matplotlib.axes._axes"})
EvaluationDataset = _Class("EvaluationDataset", (), {"__module__": "mlflow.data.evaluation_dataset"})


def plot_single_or_multi_val(*args: Any, **options: Any) -> Any:
    """The function of torchmetrics, which needs matplotlib."""
    return _real("torchmetrics.utilities.plot", "plot_single_or_multi_val")(*args, **options)
