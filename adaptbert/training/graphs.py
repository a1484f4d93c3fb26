"""CUDA graphs of optimizer steps: a recorded sequence of operations that the device replays, without the processor.

A step of BERT base is some 1,450 launches, which take the processor 31 to 41 ms, and of 32 short texts the device works
5 ms (docs/how-to/gpu.md). A graph has addresses and shapes, so it needs micro-batches that are padded to few sizes
(adaptbert.training.padding), tensors that stay where they are, and the learning rate and all counts on the device.
Random numbers are those of an eager step: the generator is seeded before a replay, and counts on as it does in one.

The first step of each size runs eagerly, which sets up libraries and the optimizer. The second is recorded, replayed
and computed eagerly, too; where weights or means differ in a bit, training stays eager and says so. So an interrupted
run goes on with the same bits, whichever of its steps are replayed.

Not seen on a device yet, therefore only with ADAPTBERT_GRAPHS=true.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from adaptbert.model.device import BF16, Movable, fastest_device
from adaptbert.model.encoder import is_flat
from adaptbert.runtime.variables import GRAPHS, value_of
from adaptbert.training.micro_batches import MicroBatch
from adaptbert.training.optimizer_step import OptimizerStep


def are_used() -> bool:
    """Whether the user has switched them on, and there is a CUDA device."""
    return value_of(GRAPHS).lower() == "true" and fastest_device().type == "cuda"


def are_possible(encoder: Any, precision: str) -> bool:
    """Whether micro-batches are to be padded for them: of an encoder whose documents are laid out without rows."""
    dtype = torch.bfloat16 if precision == BF16 else torch.float32
    return are_used() and is_flat(encoder, fastest_device(), dtype)


class Graph:
    """A recorded function of tensors that stay where they are.

    Args:
        pool: memory of another graph of the run, which this one shares: one is replayed at a time.

    Attributes:
        pool: its memory.
    """

    def __init__(self, function: Callable[[], Tensor], pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        # Other threads pin batches meanwhile.
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            self._result = function()
        self.pool = self._graph.pool()

    def replay(self) -> Tensor:
        """Run what was recorded; returns the result, which the next replay changes."""
        self._graph.replay()
        return self._result


class ReplayedStep(OptimizerStep):
    """Optimizer steps on one device, replayed where their micro-batches have sizes that were there before."""

    keeps_gradients = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pool: Any = None
        self._seen: set[Hashable] = set()
        self._graphs: dict[Hashable, tuple[MicroBatch, Graph]] = {}
        self._update: Graph | None = None
        self._stays_eager = False
        for group in self._optimizer.param_groups:  # a graph reads the rate from the device
            group["lr"] = torch.tensor(group["lr"], device=self._module.device)
            group["capturable"] = True

    def __call__(self, batches: Sequence[MicroBatch], numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        sizes = {size_of(batch) for batch in batches}
        is_new = not sizes <= self._seen
        self._seen |= sizes
        if self._stays_eager or is_new or not all(batch.is_static for batch in batches):
            return super().__call__(batches, numbers)
        if sizes <= self._graphs.keys():
            return self._replayed(batches, numbers)
        before = self._state()
        try:
            self._record(batches)
        except RuntimeError as error:
            self._stay_eager(f"a step cannot be recorded here ({str(error).splitlines()[0]})")
            return super().__call__(batches, numbers)
        self._replayed(batches, numbers)
        replayed = self._state()
        for tensor, old in zip(self._tensors(), before, strict=True):
            tensor.copy_(old)
        result = super().__call__(batches, numbers)
        if not all(map(torch.equal, replayed, self._tensors())):
            self._stay_eager("a replayed step has other bits than an eager one here")
        return result

    def _record(self, batches: Sequence[MicroBatch]) -> None:
        """Record what was not yet."""
        for batch in batches:
            if (size := size_of(batch)) not in self._graphs:
                held = batch.each(torch.clone)
                self._graphs[size] = (held, self._graph_of(partial(self.add_gradients, held, len(batches))))
        self._update = self._update or self._graph_of(self.update)

    def _graph_of(self, function: Callable[[], Tensor]) -> Graph:
        graph = Graph(function, self._pool)
        self._pool = graph.pool
        return graph

    def _replayed(self, batches: Sequence[MicroBatch], numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        losses = []
        for batch, number in zip(batches, numbers, strict=True):
            held, graph = self._graphs[size_of(batch)]
            for there, here in zip(tensors_of(held), tensors_of(batch), strict=True):
                there.copy_(here)
            self.seed(number)
            losses.append(graph.replay().clone())
        assert self._update is not None
        return torch.stack(losses).sum(0), self._update.replay().clone()

    def _stay_eager(self, why: str) -> None:
        self._stays_eager = True
        self._graphs.clear()
        print(f"  {GRAPHS}: {why}: training stays eager")

    def _tensors(self) -> list[Tensor]:
        """Weights and the state of the optimizer."""
        states = (value for state in self._optimizer.state.values() for value in state.values())
        return [*(parameter.detach() for parameter in self._module.parameters()), *states]

    def _state(self) -> list[Tensor]:
        return [tensor.clone() for tensor in self._tensors()]


def size_of(batch: Movable) -> Hashable:
    """Everything of a micro-batch that a graph holds but for the numbers in its tensors, and the counts."""
    held = (value for value in batch.values() if not isinstance(value, Mapping))
    return tuple((value.shape, value.dtype) if isinstance(value, Tensor) else value for value in held)


def tensors_of(batch: Movable) -> list[Tensor]:
    """The tensors of a micro-batch."""
    return [value for value in batch.values() if isinstance(value, Tensor)]
