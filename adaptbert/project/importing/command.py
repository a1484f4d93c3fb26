"""`adaptbert import`: a public checkpoint -> models/init/<base>, and the line of params.yaml that makes it a base."""

import os
import re
import shutil
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.recipe import PARAMS
from adaptbert.config.schema.bases import FOLDERS, is_hub_name
from adaptbert.config.schema.section import is_name, plain, why_no_name
from adaptbert.core.files import atomic_write, write_json
from adaptbert.errors import BadData, BadParams, Several, UserError, printable
from adaptbert.model.card import CARD
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CONFIG, COPY, WEIGHTS, check_architecture, downloaded, read_object
from adaptbert.model.families.bert import BERT
from adaptbert.model.families.registry import FAMILIES
from adaptbert.project.importing import weights
from adaptbert.runtime.locks import stage_lock
from adaptbert.text.tokenizer import Tokenizer

OLD_CONFIG, PICKLED = "bert_config.json", "pytorch_model.bin"
"""Names in older archives, such as those of HFL."""
INDICES, _PART = (f"{WEIGHTS}.index.json", f"{PICKLED}.index.json"), re.compile(r"-\d+-of-\d+\.")
NAME_ONE = "name a folder, or a model as the hub does: hfl/chinese-macbert-base"
ABOUT, RULES, LOWER = "tokenizer_config.json", "tokenizer.json", "do_lower_case"
TOKENIZER = (RULES, "vocab.txt", ABOUT, "special_tokens_map.json", "added_tokens.json")


def import_checkpoint(name: str, revision: str | None, base: str | None) -> list[str]:
    """Bring a folder, or else a model of the hub, into the folder of a base: all of it or nothing.

    Args:
        base: name of the base that it becomes; None: by its own name.

    Returns:
        What the user is told.

    Raises:
        BadData: it cannot be used, or there is something in the folder.
        BadParams: options that do not fit.
    """
    if not name:  # as a path it would be this folder
        raise BadData(Code.NOT_A_CHECKPOINT, "SOURCE", "the name is empty", NAME_ONE)
    if is_folder := Path(name).is_dir():
        name = str(Path(name))
    base = name_of(Path(name).resolve().name if is_folder else name) if base is None else base
    if not is_name(base):
        raise BadParams(Code.BAD_NAME, f"--base {base}", *why_no_name(base))
    if not PARAMS.is_file():
        problem, remedy = "no params.yaml: not the folder of the project", "change to the folder of the project"
        raise BadParams(Code.PARAMS_FILE, Path.cwd(), problem, remedy)
    if is_folder and revision is not None:
        problem = f"{revision} is the revision of a model on the hub, and {name} is a folder"
        raise BadParams(Code.CONTRADICTION, "--revision", problem, "leave --revision out, or move the folder away")
    to = Path(f"{FOLDERS}{base}")
    target = Path(os.path.realpath(to))  # a link stays one
    with stage_lock("import"):
        if target.is_file() or (target.is_dir() and any(target.iterdir())):
            remedy = "remove it to import again, or give the base another name: --base NAME"
            raise BadData(Code.ALREADY_THERE, to, "is there already, and is not replaced", remedy)
        folder = Path(name) if is_folder else _downloaded(name, revision or "main")
        with atomic_write(target) as part, _speaking_of(part, name), _speaking_of(folder, name):
            part.mkdir()
            lines = [] if is_folder else [f"{name}: commit {folder.name}"]
            lines += [*_brought(name, folder, part, is_folder=is_folder)]
    return [
        *map(printable, [f"{to}:", *lines]),
        f"to train from it, write into {PARAMS}, then run `adaptbert plan` and `adaptbert check`:",
        f"  base: {to}    (beside other bases: {base}: {to} below `bases`)",
    ]


def name_of(model: str) -> str:
    """That of its base: `google-bert/bert-base-chinese`, or a folder of that name -> `bert_base_chinese`.

    `public` where nothing of the name can be that of a base.
    """
    name = plain(model.rstrip("/").rpartition("/")[2]).lstrip("0123456789_")[:40].rstrip("_")
    return name if is_name(name) else "public"


def _brought(name: str, folder: Path, part: Path, *, is_folder: bool) -> Iterator[str]:
    """Write the files of a checkpoint, and check them as every stage does; what the user is told of them."""
    there = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    hint = "check the network (HF_HUB_OFFLINE=1 allows only what was downloaded before), or take another model"
    hint = f"there are {', '.join(there[:8]) or 'no files'}" if is_folder else hint
    config_file = _file(folder, CONFIG) or _file(folder, OLD_CONFIG)
    if config_file is None:
        raise BadData(Code.NOT_A_CHECKPOINT, name, "no config.json: not a Hugging Face folder", hint)
    values = _config(config_file)
    tokenizer = [path for file in TOKENIZER if (path := _file(folder, file))]
    if not {path.name for path in tokenizer} & {RULES, "vocab.txt"}:
        raise BadData(Code.NOT_A_CHECKPOINT, name, "no tokenizer: neither tokenizer.json nor vocab.txt", hint)
    file = _file(folder, WEIGHTS) or _file(folder, PICKLED)
    if file is None and (parts := [each for each in there if each in INDICES or _PART.search(each)]):
        problem = f"weights in several parts ({parts[0]}) are not read"
        remedy = (
            'load the model, write it as one file, and import DIR: model.save_pretrained(DIR, max_shard_size="100GB")'
        )
        raise BadData(Code.DAMAGED_CHECKPOINT, name, problem, remedy)
    if file is None:
        known = "neither model.safetensors nor pytorch_model.bin"
        problem = f"no weights of torch: {known} (those of TensorFlow or Flax are not read)"
        raise BadData(Code.DAMAGED_CHECKPOINT, name, problem, hint)
    card = _file(folder, CARD) if file.name == WEIGHTS else None  # of a checkpoint that this project wrote
    for path in filter(None, (*tokenizer, card)):
        shutil.copyfile(path, part / path.name)
    if values == read_object(config_file):
        shutil.copyfile(config_file, part / CONFIG)
    else:
        write_json(part / CONFIG, values)
    notes = _with_lower_casing(part)
    checkpoint = Checkpoint(str(part), Tokenizer.load(part), None)
    checkpoint.check_vocabulary()
    config = checkpoint.config()
    shape = f"{config.num_hidden_layers} layers of {config.hidden_size}, {config.max_position_embeddings} positions"
    yield f"BERT with {shape}; vocabulary: {checkpoint.tokenizer.size:,} tokens, embeddings: {config.vocab_size:,} rows"
    yield from notes
    yield from weights.write(file, part, checkpoint)
    Checkpoint.load(part)
    used = {path.name for path in (config_file, file, card, *tokenizer) if path}
    left_out = [other for other in there if other not in used and not other.startswith(".")]
    if is_folder and left_out:
        yield f"files left out: {', '.join(left_out)}"


def _downloaded(name: str, revision: str) -> Path:
    """The folder of a model of the hub; its files are those of the commit that the revision was for the first one."""
    if Path(name).exists():
        problem = "is a file, and a checkpoint is a folder"
        raise BadData(Code.NOT_A_CHECKPOINT, name, problem, f"unpack it, or name its folder: {Path(name).parent}")
    if not is_hub_name(name):
        raise BadData(Code.NOT_A_CHECKPOINT, name, "no such folder, and no name of a model on the hub", NAME_ONE)
    first = downloaded(name, revision, CONFIG)
    assert first is not None
    with _speaking_of(first.parent, name):
        _config(first)  # another architecture is refused before its weights are fetched
    for file in (*TOKENIZER, CARD):
        downloaded(name, first.parent.name, file, required=False)
    if downloaded(name, first.parent.name, WEIGHTS, required=False) is None:
        for file in (PICKLED, *INDICES):
            downloaded(name, first.parent.name, file, required=False)
    return first.parent


@contextmanager
def _speaking_of(folder: Path, label: str) -> Iterator[None]:
    """Let errors about files of a temporary folder, or of a cache, name what the user named."""

    def renamed(error: UserError) -> UserError:
        place = replace(error.place, file=error.place.file.replace(str(folder), label))
        return type(error)(error.code, place, error.problem.replace(str(folder), label), error.remedy)

    try:
        yield
    except Several as errors:
        raise Several([renamed(error) for error in errors.failures]) from None
    except UserError as error:
        raise renamed(error) from None


def _file(folder: Path, name: str) -> Path | None:
    path = folder / name
    if not path.is_file() and (path.exists() or path.is_symlink()):
        raise BadData(Code.FILE, path, "not a file", COPY)
    return path if path.is_file() else None


def _config(file: Path) -> dict[str, Any]:
    """The checked values; in archives of 2019 no kind of model is named."""
    values = read_object(file)
    kind, classes = values.get("model_type"), values.get("architectures")
    if kind is None and isinstance(classes, list) and any(not str(name).startswith("Bert") for name in classes):
        kind = str(classes[0])
    if isinstance(kind, str) and kind not in FAMILIES:
        problem = f"a model of the kind {kind}, which is another architecture than BERT"
        remedy = "take a BERT; by their config.json, MacBERT and the Chinese RoBERTa-wwm are (model_type bert)"
        raise BadData(Code.OTHER_ARCHITECTURE, file, problem, remedy)
    values = {"model_type": BERT.name, **values} if kind is None else values
    check_architecture(values, file)
    return values


def _with_lower_casing(folder: Path) -> list[str]:
    """Write into tokenizer_config.json whether capitals become small letters, where it does not say so.

    transformers 5 builds the tokenizer of a BERT from the vocabulary and that file alone, and lower-cases where it is
    silent, whatever the rules in tokenizer.json are.

    Raises:
        BadData: the tokenizer cannot be loaded, or lacks a special token.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers.normalizers import BertNormalizer

    about = read_object(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    tokenizer = Tokenizer.load(folder)
    if isinstance(about.get(LOWER), bool):
        return []
    rules = Backend.from_file(str(folder / RULES)).normalizer if (folder / RULES).is_file() else None
    if isinstance(rules, BertNormalizer):
        lower, reason = rules.lowercase, "tokenizer.json says so"
        about = {"tokenize_chinese_chars": rules.handle_chinese_chars, **about}
        about = about if rules.strip_accents is None else {"strip_accents": rules.strip_accents, **about}
    else:
        capitals = len(set(string.ascii_uppercase) & set(tokenizer.tokens))
        lower = capitals < len(string.ascii_uppercase) // 2
        default = "BERT lower-cases by default, and " if lower else ""
        reason = f"no file says so; {default}the vocabulary has {capitals} of the 26 capital letters"
    write_json(folder / ABOUT, {**about, LOWER: lower})
    does = "lower-cased" if lower else "kept as they are"
    return [f"notice: assumed: Latin letters are {does} ({reason}). Chinese characters have no case"]
