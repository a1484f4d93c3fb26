"""Reads weights from a pickle, `pytorch_model.bin`, without running anything of it.

A pickle is a program: Python's own unpickler does whatever the file says. torch's restricted unpickler
(`weights_only=True`) knows the few operations that build tensors, and refuses all others. This is the only module of
the library that calls `torch.load` (tests/pipeline/test_layers.py).
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from adaptbert.codes import Code
from adaptbert.errors import BadData, shortened
from adaptbert.model.checkpoint_files import COPY
from adaptbert.project.importing import opcodes
from adaptbert.project.importing.opcodes import TooLarge

if TYPE_CHECKING:
    import torch

_ZIP = b"PK\x03\x04"
"""The beginning of a file that torch wrote from version 1.6 on; only such a file can be mapped into memory."""
_POINTER = b"version https://git-lfs.github.com/"
_CALLED = re.compile(r"\bGLOBAL (\S+)")
_REFUSED = ("Trying to call reduce", "Can only create new object", "Can only build")
"""The words of torch's unpickler for operations that build something else than tensors."""
_OF_TENSORS = re.compile(
    r"collections\.OrderedDict|torch\._utils\._rebuild_\w+|torch\.(storage\.)?\w*Storage|torch\.(Size|device|bool|\w*\d\w*)"
)
"""What a pickle of tensors names."""
_SHOWN = 4


def refuse_pointer(file: Path) -> bytes:
    """The first bytes of a file of weights.

    Raises:
        BadData: it cannot be read, or it is what git leaves in place of a large file.
    """
    try:
        with file.open("rb") as opened:
            beginning = opened.read(len(_POINTER))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BadData(Code.NOT_A_FILE, file, problem, "check the file and its permissions") from None
    if beginning == _POINTER:
        problem = "a pointer of Git LFS, not the weights themselves"
        raise BadData(Code.DAMAGED_WEIGHTS, file, problem, "run `git lfs pull` in its folder, or download the file")
    return beginning


def tensors_of(file: Path) -> tuple[dict[str, "torch.Tensor"], list[str]]:
    """The tensors of a pickle by their names, and the names of what else it holds. A large file is not read at once.

    Raises:
        BadData: it would run code, is damaged, or holds no tensors by name.
    """
    import torch

    beginning = refuse_pointer(file)
    is_zip = beginning.startswith(_ZIP)
    called: list[str] = []
    try:
        for name in opcodes.names_called(file, is_zip=is_zip):
            called.append(name)  # one by one: those before a damaged place count
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about files that it cannot read: the error says so
            loaded = torch.load(file, map_location="cpu", weights_only=True, mmap=is_zip)
    except Exception as error:  # damaged bytes raise errors of any kind
        _refuse(file, error, [name for name in called if not _OF_TENSORS.fullmatch(name)])
    entries = loaded if isinstance(loaded, Mapping) else {}
    tensors = {name: value for name, value in entries.items() if isinstance(name, str) and torch.is_tensor(value)}
    if not tensors:
        _refuse_shape(file, loaded)
    size = file.stat().st_size
    for name, tensor in tensors.items():
        _check_plain(file, name, tensor, size)
    return tensors, [shortened(str(name)) for name in entries if name not in tensors]


def _refuse(file: Path, error: Exception, others: Sequence[str]) -> NoReturn:
    """Raise for a file that torch did not read.

    Args:
        others: what the file calls besides what builds tensors; torch may have stopped before it came to that.
    """
    words = str(error)
    called = _CALLED.search(words)
    if called or others or any(refused in words for refused in _REFUSED) or isinstance(error, TooLarge):
        named = f", it names {called[1]}" if called else f", it names {shortened(others[0])}" if others else ""
        named = f", {error}" if isinstance(error, TooLarge) else named
        problem = f"the pickle holds more than tensors{named}: nothing of it was run, nothing was written"
        remedy = "do not open this file with other programs, which would run it; take the model from its authors"
        raise BadData(Code.PICKLE_WITH_CODE, file, problem, remedy)
    lines = [line for line in words.splitlines() if line.strip()]
    reason = lines[0] if lines and "weights_only" not in lines[0] else f"no file of torch ({type(error).__name__})"
    raise BadData(Code.DAMAGED_WEIGHTS, file, f"cannot be read: {shortened(reason)}", COPY)


def _refuse_shape(file: Path, loaded: Any) -> NoReturn:
    content = f"a {type(loaded).__name__}"
    if isinstance(loaded, Mapping):
        names = [shortened(str(name), 30) for name in [*loaded][:_SHOWN]]
        content = f"{', '.join(names) or 'nothing'}{' and more' if len(loaded) > _SHOWN else ''}"
    remedy = "take the file of the model alone, as `model.save_pretrained` writes it"
    raise BadData(Code.WEIGHTS_DO_NOT_FIT, file, f"holds no tensors by name; found {content}", remedy)


def _check_plain(file: Path, name: str, tensor: "torch.Tensor", size: int) -> None:
    """Refuse what is no array of numbers in this file: a sparse tensor, or a few bytes that claim to be a thousand."""
    import torch

    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        problem = f"{shortened(name)} is no plain tensor"
    elif tensor.numel() * tensor.element_size() > size:
        problem = f"{shortened(name)} is larger than the file"
    else:
        return
    raise BadData(Code.WEIGHTS_DO_NOT_FIT, file, problem, COPY)
