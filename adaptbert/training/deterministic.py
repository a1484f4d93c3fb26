"""The same bits in every run on a CUDA device, so that a resumed run equals one without interruption.

A processor has them anyway. On CUDA some operations add up in the order in which threads happen to finish; torch has
slower ones that do not. ADAPTBERT_DETERMINISTIC=false takes the faster ones: resumed runs then differ in the last bits.
Not yet run on a GPU: neither the bits nor the price are measured.
"""

import torch

from adaptbert.runtime.libraries import same_bits


def same_bits_on_cuda() -> None:
    """Applies to this process from now on; does nothing without a device. Operations that have no such kind warn.

    The variables of adaptbert.runtime.libraries belong to it.
    """
    if not torch.cuda.is_available():
        return
    torch.backends.cuda.enable_cudnn_sdp(False)  # rounds a rate of dropout, and plans anew for every shape
    if not same_bits():
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    # It costs time, and no value of ours is uninitialized.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
