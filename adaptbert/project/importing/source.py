"""What a user names: a folder in Hugging Face format, or a model of the hub, of which only what is read is downloaded.

The configuration and the tokenizer come first, so that another architecture is refused before its weights are fetched.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adaptbert.base.start import is_hub_name
from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams, Several, UserError
from adaptbert.model.card import CARD
from adaptbert.model.checkpoint_files import (
    CONFIG,
    COPY,
    WEIGHTS,
    check_architecture,
    downloaded,
    read_object,
)

OLD_CONFIG = "bert_config.json"
"""Its name in archives that were converted from TensorFlow, such as those of HFL."""
PICKLED = "pytorch_model.bin"
WEIGHT_FILES = (WEIGHTS, f"{WEIGHTS}.index.json", PICKLED, f"{PICKLED}.index.json")
"""The first that is there is read."""
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json")
ADDED_TOKENS = "added_tokens.json"

_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")

Fetch = Callable[[str], Path | None]


@dataclass(frozen=True)
class Source:
    """The files of a checkpoint that an import reads, wherever they lie.

    Attributes:
        label: as the user names it.
        folder: where the files lie.
        config: the checked values of config.json.
        config_file: None where config.json is to be written anew, because something was added to it.
        weights: one file, or several that belong together.
        tokenizer: its files.
        card: of a checkpoint that this project wrote.
        left_out: names in a folder that the import does not read.
        commit: of a model of the hub.
        notes: what was assumed.
    """

    label: str
    folder: Path
    config: dict[str, Any]
    config_file: Path | None
    weights: list[Path]
    tokenizer: list[Path]
    card: Path | None = None
    left_out: list[str] = field(default_factory=list)
    commit: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether its weights are one safetensors file, which is copied."""
        return [file.name for file in self.weights] == [WEIGHTS]


def find(name: str, revision: str | None) -> Source:
    """The folder of this name, or else the model of the hub.

    Raises:
        BadData: neither is there, a file is missing, or config.json describes no BERT.
        BadParams: a revision of a folder.
    """
    folder = Path(name)
    if folder.is_dir():
        if revision is not None:
            problem = f"{revision} is the revision of a model on the hub, and {name} is a folder"
            raise BadParams(Code.CONTRADICTION, "--revision", problem, "leave --revision out, or move the folder away")
        return _of_folder(folder)
    if folder.exists():
        problem = "is a file, and a checkpoint is a folder"
        raise BadData(Code.NOT_A_CHECKPOINT, name, problem, f"unpack it, or name its folder: {folder.parent}")
    if not is_hub_name(name):
        remedy = "name a folder, or a model as the hub does: hfl/chinese-macbert-base"
        raise BadData(Code.NOT_A_CHECKPOINT, name, "no such folder, and no name of a model on the hub", remedy)
    return _of_hub(name, revision or "main")


@contextmanager
def speaking_of(folder: Path, label: str) -> Iterator[None]:
    """Let errors about files of a temporary folder, or of a cache, name what the user named."""

    def renamed(error: UserError) -> UserError:
        place, problem = (text.replace(str(folder), label) for text in (error.place, error.problem))
        return type(error)(error.code, place, problem, error.remedy)

    try:
        yield
    except Several as errors:
        raise Several([renamed(error) for error in errors.failures]) from None
    except UserError as error:
        raise renamed(error) from None


def _of_folder(folder: Path) -> Source:
    def fetch(name: str) -> Path | None:
        path = folder / name
        if not path.exists() and not path.is_symlink():
            return None
        if not path.is_file():
            raise BadData(Code.NOT_A_FILE, path, "not a file", COPY)
        return path

    names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    source = _collect(str(folder), folder, fetch, f"there are {', '.join(names[:8]) or 'no files'}")
    used = {path.name for path in (source.config_file, source.card, *source.weights, *source.tokenizer) if path}
    used |= {CONFIG if (folder / CONFIG).is_file() else OLD_CONFIG}
    left_out = [name for name in names if name not in used and not name.endswith(".index.json")]
    return replace(source, left_out=[name for name in left_out if not name.startswith(".")])


def _of_hub(name: str, revision: str) -> Source:
    """All files are those of the commit that the revision was when the first one was fetched."""
    try:
        first = downloaded(name, revision, CONFIG)
    except BadData as error:
        if "/" not in name:
            raise
        problem = f"no such folder here, and it {error.problem}"
        raise BadData(error.code, name, problem, error.remedy) from None
    assert first is not None
    commit = first.parent.name
    hint = "check the network (HF_HUB_OFFLINE=1 allows only what was downloaded before), or take another model"
    with speaking_of(first.parent, name):
        source = _collect(name, first.parent, lambda file: downloaded(name, commit, file, required=False), hint)
    return replace(source, commit=commit)


def _collect(label: str, folder: Path, fetch: Fetch, hint: str) -> Source:
    """The files of a checkpoint.

    Args:
        fetch: gives the path of a file by its name; None: there is none.
        hint: the remedy where a file is missing.
    """
    notes: list[str] = []
    config_file = fetch(CONFIG) or fetch(OLD_CONFIG)
    if config_file is None:
        raise BadData(Code.NOT_A_CHECKPOINT, label, "no config.json: not a Hugging Face folder", hint)
    config = _read_config(config_file, notes)
    tokenizer = [path for name in (*TOKENIZER_FILES, ADDED_TOKENS) if (path := fetch(name))]
    if not {path.name for path in tokenizer} & {"tokenizer.json", "vocab.txt"}:
        raise BadData(Code.NOT_A_CHECKPOINT, label, "no tokenizer: neither tokenizer.json nor vocab.txt", hint)
    weights = _weights(label, fetch, hint)
    same = config_file.name == CONFIG and not notes
    card = fetch(CARD) if weights[0].name == WEIGHTS else None
    return Source(label, folder, config, config_file if same else None, weights, tokenizer, card, notes=notes)


def _read_config(file: Path, notes: list[str]) -> dict[str, Any]:
    """The values; adds to `notes` what was assumed of them."""
    values = read_object(file)
    kind, classes = values.get("model_type"), values.get("architectures")
    if kind is None and isinstance(classes, list) and any(not str(name).startswith("Bert") for name in classes):
        kind = str(classes[0])
    if isinstance(kind, str) and kind != "bert":
        problem = f"a model of the kind {kind}, which is another architecture than BERT"
        remedy = "take a BERT; by their config.json, MacBERT and the Chinese RoBERTa-wwm are (model_type bert)"
        raise BadData(Code.OTHER_ARCHITECTURE, file, problem, remedy)
    if kind is None:
        notes.append(f"{file.name} names no model_type: bert was added, because the weights have the shapes of a BERT")
        values = {"model_type": "bert", **values}
    check_architecture(values, file)
    return values


def _weights(label: str, fetch: Fetch, hint: str) -> list[Path]:
    """The one file, or the parts that an index names."""
    file = next((path for name in WEIGHT_FILES if (path := fetch(name))), None)
    if file is None:
        known = "neither model.safetensors nor pytorch_model.bin"
        problem = f"no weights of torch: {known} (those of TensorFlow or Flax are not read)"
        raise BadData(Code.CHECKPOINT_INCOMPLETE, label, problem, hint)
    if not file.name.endswith(".index.json"):
        return [file]
    table = read_object(file).get("weight_map")
    names = sorted({str(name) for name in table.values()}) if isinstance(table, dict) else []
    suffix = ".safetensors" if file.name.startswith(WEIGHTS) else ".bin"
    if not names or any(not _FILE_NAME.fullmatch(name) or not name.endswith(suffix) for name in names):
        raise BadData(Code.BAD_CONFIG, file, f"names no files of weights (*{suffix})", COPY)
    parts = {name: fetch(name) for name in names}
    if missing := [name for name, path in parts.items() if path is None]:
        problem = f"{file.name} names {', '.join(missing)}, which is missing"
        raise BadData(Code.CHECKPOINT_INCOMPLETE, label, problem, COPY)
    return [path for path in parts.values() if path]
