"""What a user is told where a device has too little memory."""

import pytest
import torch

from adaptbert.errors import BAD_PARAMS
from adaptbert.runtime.user_errors import user_errors

TOLD = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. "
    "Of the allocated memory 6.00 GiB is allocated by PyTorch."
)


def test_the_memory_of_a_device_runs_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, user_errors():
        raise torch.OutOfMemoryError(TOLD)
    assert ended.value.code == BAD_PARAMS
    assert capsys.readouterr().err == (
        "error: AB-190 device: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        "  lower micro_batch_tokens, or finetune.micro_batch_size; if it stays, ADAPTBERT_STAGES_PER_DEVICE\n"
    )
