"""`adaptbert import`: a folder as the hub has it -> models/init/<base>, and the line of params.yaml for it.

Its files are read, no code in them is run, and its weights are written as safetensors; transformers gives the tensors
their names of today. A pickle is a program: Python's own unpickler does whatever the file says. torch's restricted
unpickler (`weights_only=True`) knows the few operations that build tensors, and refuses all others. This is the only
module of the library that opens one (tests/pipeline/test_layers.py).
"""

import os
import re
import shutil
import string
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.config.recipe import PARAMS
from adaptbert.config.schema.bases import FOLDERS, Base
from adaptbert.config.schema.section import is_name, plain, why_no_name
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.core.printable import printable
from adaptbert.errors import BadData, BadParams, UserError, failures_of, raise_all, shortened
from adaptbert.model.checkpoint import Checkpoint, quiet
from adaptbert.model.checkpoint_files import (
    CARD,
    CONFIG,
    IDS,
    WEIGHTS,
    check_amount,
    check_tensors,
    damaged,
    hugging_face_config,
    loaded,
    old_use,
    read_object,
)
from adaptbert.model.classes import class_of, is_of_head, without_weights
from adaptbert.model.encoder import WORDS
from adaptbert.model.proof import prove
from adaptbert.planning import fitting
from adaptbert.project import dvc_files, editing
from adaptbert.runtime.locks import stage_lock
from adaptbert.text.tokenizer import ABOUT, RULES, VOCABULARIES, Tokenizer, folding

if TYPE_CHECKING:
    import torch

BY_ITS_MAKERS = (
    "convert it first, by its makers' script: convert_to_hf.py of AnswerDotAI/ModernBERT (branch "
    "pretraining_documentation), for mmBERT with the ids of its special tokens; for fairseq's, that of transformers 4 "
    "for the kind of model, convert_..._original_pytorch_checkpoint_to_pytorch.py"
)
IN_ONE = 'load the model, write it as one file, and import DIR: model.save_pretrained(DIR, max_shard_size="100GB")'
NAME_ONE = "name a folder; one of the hub's is fetched by: hf download NAME --local-dir FOLDER"
LOWER = "do_lower_case"
TOKENIZER = (RULES, "vocab.txt", ABOUT, "special_tokens_map.json", "added_tokens.json")
_POINTER = b"version https://git-lfs.github.com/"
_HEAD = f"  pretrain: {editing.in_a_line(fitting.HEAD_ALONE)}    (trains the head; without general text, in "
_REFUSED = re.compile(r"\bGLOBAL (\S+)|Trying to call reduce|Can only create new object|Can only build")
"""The words of torch's unpickler for operations that build something else than tensors."""


def import_checkpoint(source: Path, base: str | None) -> list[str]:
    """`bring`, under the name of the folder where no base is named; and how params.yaml names it."""
    base = name_of(source.resolve().name) if base is None else base
    to = f"{FOLDERS}{base}"
    lines, weights = bring(source, base), Base(checkpoint=to)
    return [
        *lines,
        *folding(Tokenizer.load(Path(to)).backend.normalizer),
        f"to train from it, write into {PARAMS}, then run `adaptbert plan` and `adaptbert check`:",
        f"  base: {to}    (beside other bases: {base}: {to} below `bases`)",
        *(
            f"  {section}: {editing.in_a_line(values)}    (fitted to it; beside other bases in overrides.{base})"
            for section, values in fitting.of_base(weights).items()
            if values
        ),
        *([f"{_HEAD}domain and task transfer)"] if lacks_head(Path(to)) else []),
    ]


def bring(source: Path, base: str) -> list[str]:
    """Bring a folder into that of a base: all of it or nothing; returns lines for the user.

    Raises:
        BadData: it cannot be used, or there is something in the folder.
        BadParams: the name cannot be that of a base, or this is not the folder of the project.
    """
    if not is_name(base):
        raise BadParams(Code.BAD_NAME, f"--base {base}", *why_no_name(base))
    dvc_files.check_folder()
    if not source.is_dir():
        if source.suffix == ".pt" and source.is_file():
            raise _of_a_training(source, "is")
        problem = "is a file, and a checkpoint is a folder" if source.exists() else "no such folder"
        raise BadData(Code.NOT_A_CHECKPOINT, source, problem, NAME_ONE)
    to = Path(f"{FOLDERS}{base}")
    with stage_lock("import"):
        if os.path.lexists(to):
            remedy = f"take it, in `new` by --base {to}; or remove it, or import under another name: --base NAME"
            raise BadData(Code.ALREADY_THERE, to, "is there already, and is not replaced", remedy)
        with atomic_write(to) as part, _speaking_of(part, source):
            part.mkdir()
            lines = [*_brought(source, part)]
    return [*map(printable, [f"{to}:", *lines])]


def is_taken(source: Path, home: Path) -> bool:
    """Whether the folder of a base is this one, or was made of it as it is now."""
    if source.resolve() == home.resolve():
        return True
    here, there = source / WEIGHTS, home / WEIGHTS
    if not here.is_file() or not there.is_file() or file_digest(here) != file_digest(there):
        return False
    return all(path.stat().st_mtime <= there.stat().st_mtime for path in source.iterdir())


def lacks_head(folder: Path) -> bool:
    """Whether the weights of a base have no head for masked-language modelling."""
    config = hugging_face_config(read_object(folder / CONFIG), folder / CONFIG)
    with quiet():
        return bool(check_tensors(folder / WEIGHTS, config, folder))


def name_of(folder: str) -> str:
    """Name of its base: `bert-base-chinese` -> `bert_base_chinese`; `public` where nothing of it can be one."""
    name = plain(folder).lstrip("0123456789_")[:40].rstrip("_")
    return name if is_name(name) else "public"


def _brought(folder: Path, part: Path) -> Iterator[str]:
    """Write the files of a checkpoint, and check them as every stage does; returns lines for the user."""
    there = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    files = {path.name: path for path in folder.iterdir() if path.is_file()}
    hint = f"there are {', '.join(there[:8]) or 'no files'}"
    file = files.get(WEIGHTS) or files.get("pytorch_model.bin")
    if file is None and (of_training := [each for each in there if each.endswith(".pt")]):
        raise _of_a_training(folder, f"{of_training[0]} is")
    config_file = files.get(CONFIG) or files.get("bert_config.json")  # in older archives, such as those of HFL
    if config_file is None:
        raise BadData(Code.NOT_A_CHECKPOINT, folder, "no config.json: not a Hugging Face folder", hint)
    values = {"model_type": "bert", **read_object(config_file)}  # in archives of 2019 no kind of model is named
    hugging_face_config(values, config_file)
    tokenizer = [files[name] for name in TOKENIZER if name in files]
    has_rules = not files.keys().isdisjoint((RULES, "vocab.txt"))
    vocabulary = [] if has_rules else [files[name] for name in VOCABULARIES if name in files]
    if not (has_rules or vocabulary):
        known = "neither tokenizer.json nor a vocabulary (vocab.txt, one of sentencepiece, vocab.json with merges.txt)"
        raise BadData(Code.NOT_A_CHECKPOINT, folder, f"no tokenizer: {known}", hint)
    if not has_rules and len(alone := files.keys() & {"vocab.json", "merges.txt"}) == 1:
        problem = f"{alone.pop()} alone, and BPE needs vocab.json and merges.txt"
        raise BadData(Code.NOT_A_CHECKPOINT, folder, problem, hint)
    if file is None:
        parts = [each for each in there if re.search(r"-\d+-of-\d+\.", each)]
        known = "neither model.safetensors nor pytorch_model.bin (those of TensorFlow or Flax are not read)"
        problem = f"weights in several parts ({parts[0]}) are not read" if parts else f"no weights of torch: {known}"
        raise damaged(folder, problem, IN_ONE if parts else hint)
    card = files.get(CARD) if file.name == WEIGHTS else None  # of a checkpoint that this project wrote
    for path in filter(None, (*tokenizer, *vocabulary, card)):
        shutil.copyfile(path, part / path.name)
    if values == read_object(config_file):
        shutil.copyfile(config_file, part / CONFIG)
    else:
        write_json(part / CONFIG, values)
    if vocabulary:
        _convert([part / path.name for path in vocabulary])
    notes = [*_keep_case(part)]
    checkpoint = Checkpoint(str(part), Tokenizer.load(part), None)
    checkpoint.check_vocabulary()
    if checkpoint.tokenizer.is_general:
        checkpoint.tokenizer.save(part)  # transformers reads it alike then, whatever its class was
    config = checkpoint.config()
    with checkpoint.readable():
        longest = checkpoint.longest
    sizes = f"{config.num_hidden_layers} layers of {config.hidden_size}, {longest} positions"
    size, kind = checkpoint.tokenizer.size, config.model_type.upper()
    yield f"{kind} with {sizes}; vocabulary: {size:,} tokens, embeddings: {config.vocab_size:,} rows"
    if vocabulary:
        yield f"{RULES} is made of {' and '.join(path.name for path in vocabulary)}"
    if not checkpoint.tokenizer.extra(1):
        yield "notice: its tokenizer puts no special tokens around a text; few encoders were trained so"
    yield from (*notes, *old_use(values))
    yield from _write_weights(file, part, checkpoint)
    yield f"documents are {WORDS[prove(Checkpoint.load(part).model('masked_lm', seed=0))]}: proven on these weights"
    yield from fitting.decayed(folder.resolve().name)
    used = {path.name for path in (config_file, file, card, *tokenizer, *vocabulary) if path}
    if left_out := [other for other in there if other not in used and not other.startswith(".")]:
        yield f"files left out: {', '.join(left_out)}"


def _of_a_training(place: Path, what: str) -> BadData:
    """The error for a checkpoint of a program that trains, which holds more than the weights, under its own names."""
    problem = f"{what} the checkpoint of a training program, such as Composer or fairseq, and none of transformers"
    return BadData(Code.OTHER_ARCHITECTURE, place, problem, BY_ITS_MAKERS)


def _convert(vocabulary: list[Path]) -> None:
    """Write tokenizer.json and its settings in the place of another form of vocabulary, as transformers converts it."""
    from tokenizers.normalizers import Precompiled, Sequence
    from transformers import AutoTokenizer
    from transformers.convert_slow_tokenizer import SentencePieceExtractor

    folder, pieces = vocabulary[0].parent, [file for file in vocabulary if file.suffix == ".model"]
    try:
        spec = SentencePieceExtractor(str(pieces[0])).proto.normalizer_spec if pieces else None
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        backend, characters = getattr(tokenizer, "backend_tokenizer", None), spec and spec.precompiled_charsmap
        # Some classes of transformers forget which characters sentencepiece replaces, e.g. Chinese punctuation.
        if backend and characters and "Precompiled" not in repr(backend.normalizer):
            backend.normalizer = Sequence([Precompiled(characters), *filter(None, [backend.normalizer])])
        tokenizer.save_pretrained(str(folder))
    except Exception as error:  # damaged bytes raise errors of any kind
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise damaged(pieces[0] if pieces else vocabulary[0], f"cannot be converted: {shortened(reason)}") from None
    for file in vocabulary if (folder / RULES).is_file() else ():  # else it is code, of which its class is asked
        file.unlink()


@contextmanager
def _speaking_of(part: Path, source: Path) -> Iterator[None]:
    """Let errors about files of a temporary folder name what the user named."""
    try:
        yield
    except UserError as error:
        for each in error.failures:
            each.problem = each.problem.replace(str(part), str(source))
        places = [replace(each.place, file=each.place.file.replace(str(part), str(source))) for each in error.failures]
        raise_all([each.at(place) for each, place in zip(error.failures, places, strict=True)])


def _keep_case(folder: Path) -> Iterator[str]:
    """Write into tokenizer_config.json what the other files say of capital letters, if it says nothing of them itself.

    transformers 5 would lower-case by the rules of BERT, whatever those in tokenizer.json are. Yields a line for the
    user.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers.normalizers import BertNormalizer

    about = read_object(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    file, tokenizer = folder / RULES, Tokenizer.load(folder)
    if not isinstance(tokenizer.backend.normalizer, BertNormalizer) or isinstance(about.get(LOWER), bool):
        return
    rules = Backend.from_file(str(file)).normalizer if file.is_file() else None
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
    yield f"notice: assumed: Latin letters are {does} ({reason}). Chinese characters have no case"


def _write_weights(file: Path, folder: Path, checkpoint: Checkpoint) -> Iterator[str]:
    """Write model.safetensors beside config.json, a copy or the tensors of a pickle: what it holds and lacks."""
    import torch
    from safetensors.torch import save_file
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    config = checkpoint.config()
    with checkpoint.readable():
        # The class that keeps most of what pre-training leaves.
        kind = class_of(config, "masked_lm" if failures_of(class_of, config, "pretraining") else "pretraining")
        empty = without_weights(config, kind)
    stored, others, wrapper = _unwrapped(*_stored(file), empty)
    check_amount(empty, sum(tensor.numel() for tensor in stored.values()), file.parent)
    tied = empty.all_tied_weights_keys  # these are others once more
    stored = {name: tensor for name, tensor in stored.items() if tied.get(name) not in stored}
    # Numbers stay as they are: half precision takes half the room, and every stage computes in float32 anyway.
    dtypes = [tensor.dtype for tensor in stored.values() if tensor.is_floating_point()]
    dtype = reduce(torch.promote_types, dtypes or [torch.float32])  # none: all is missing, which is said below
    with quiet(), checkpoint.readable():
        model, info = loaded(kind, None, config, file.parent, of_encoder=False, state_dict=stored, dtype=dtype)
    other_types = MODEL_FOR_MASKED_LM_MAPPING_NAMES.keys() - {kind.base_model_prefix, config.model_type}
    if kinds := sorted({*wrapper.split(".")} & other_types):
        # Their tensors may have the same names and shapes, and another meaning, as positions from 2 on.
        problem = f"the weights are named as those of {kinds[0]}, and model_type is {config.model_type}"
        raise BadData(Code.OTHER_ARCHITECTURE, folder, problem, f"write their model_type into {CONFIG}")
    lacking, unused = set(info["missing_keys"]), [*info["unexpected_keys"], *others]
    # Each with memory of its own, as safetensors demands.
    names = model.state_dict().keys() - lacking - tied.keys()
    tensors = {name: tensor.clone().contiguous() for name, tensor in model.state_dict().items() if name in names}
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise damaged(file, f"{name} holds NaN or Inf", "take another copy of the model")
    if file.name == WEIGHTS and not wrapper:
        shutil.copyfile(file, folder / WEIGHTS)
    else:
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})
        shutil.copymode(folder / CONFIG, folder / WEIGHTS)  # safetensors writes it readable by its owner only
    if wrapper:
        yield f"notice: the weights are those of a module around the model: {wrapper} was taken off their names"
    yield f"{sum(tensor.numel() for tensor in tensors.values()):,} parameters, {str(dtype).removeprefix('torch.')}"
    if getattr(config, "type_vocab_size", 0) < 2:
        yield "notice: the two texts of a pair are told apart by separators alone"
    heads: dict[str, set[str]] = {"masked-LM head": set(), "pooler": set(), "next-sentence head": set()}
    for name in {name for name, _ in model.named_parameters() if is_of_head(model, name)} - tied.keys():
        of_pairs = "pooler" if "pooler." in name else "next-sentence head" if "seq_relationship." in name else None
        heads[of_pairs or "masked-LM head"].add(name)
    if whole := [head for head, weights in heads.items() if weights and lacking.isdisjoint(weights)]:
        yield f"with {', '.join(whole)}"
    if "masked-LM head" not in whole:
        yield "notice: no head for masked-language modelling: it begins untrained"
    if heads["pooler"] and "pooler" not in whole:
        yield "notice: no pooler: fine-tuning on sentences and pairs begins with an untrained one"
    if unused:
        yield f"in the weights but not used: {', '.join(map(shortened, sorted(unused)))}"


def _stored(file: Path) -> tuple[dict[str, "torch.Tensor"], list[str]]:
    """The tensors of a file, and the names of what else it holds."""
    import torch
    from safetensors import SafetensorError
    from transformers.modeling_utils import load_state_dict

    with file.open("rb") as opened:
        if opened.read(len(_POINTER)) == _POINTER:
            remedy = "run `git lfs pull` in its folder, or download the file"
            raise damaged(file, "a pointer of Git LFS, not the weights themselves", remedy)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about files that it cannot read: the error says so
            loaded = load_state_dict(file, weights_only=True)
    except SafetensorError as error:
        raise damaged(file, f"bad safetensors file: {error}") from None
    except Exception as error:  # damaged bytes raise errors of any kind
        raise _refused(file, str(error).strip() or type(error).__name__) from None
    entries = loaded if isinstance(loaded, Mapping) else {}
    tensors = {str(name): value for name, value in entries.items() if torch.is_tensor(value)}
    if not tensors:
        inside = [str(name) for name, value in entries.items() if isinstance(value, Mapping) and value]
        kind = f"a {type(loaded).__name__}" + (f" with {', '.join(map(shortened, inside))} inside" if inside else "")
        if "state" in inside or {"args", "cfg"} & entries.keys():
            raise _of_a_training(file, "is")
        problem = f"holds no tensors by name; found {kind}"
        remedy = "take the file of the model alone, as `model.save_pretrained` writes it"
        raise BadData(Code.OTHER_ARCHITECTURE, file, problem, remedy)
    floats = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    for name, tensor in tensors.items():
        if tensor.dtype not in floats and not name.endswith(IDS):
            problem = f"{shortened(name)} holds {str(tensor.dtype).removeprefix('torch.')}: the weights are quantized"
            raise BadData(Code.OTHER_ARCHITECTURE, file, problem, "name the checkpoint that they were made from")
    return tensors, [str(name) for name in entries if str(name) not in tensors]


def _unwrapped(
    stored: "dict[str, torch.Tensor]", others: list[str], model: Any
) -> "tuple[dict[str, torch.Tensor], list[str], str]":
    """Tensors and other names without what a wrapper has put before them (`module.`, `model.`), and that; empty: none.
    It stands before the name of the embeddings, in the encoder of this model or below its prefix."""
    table = model.get_input_embeddings().weight
    embeddings = next(name for name, parameter in model.base_model.named_parameters() if parameter is table)
    name = next((name for name in stored if name.endswith(embeddings)), embeddings)
    before = name.removesuffix(embeddings)
    wrapper = before.removesuffix(f"{model.base_model_prefix}.")
    unwrapped = {name.removeprefix(wrapper): tensor for name, tensor in stored.items()}
    return unwrapped, [name.removeprefix(wrapper) for name in others], wrapper


def _refused(file: Path, words: str) -> BadData:
    """The error for a pickle that torch did not read."""
    if refused := _REFUSED.search(words):
        named = f", it names {refused[1]}" if refused[1] else ""
        problem = f"the pickle holds more than tensors{named}: nothing of it was run, nothing was written"
        remedy = "do not open this file with other programs, which would run it; take the model from its authors"
        return BadData(Code.UNSAFE_WEIGHTS, file, problem, remedy)
    reason = words.splitlines()[0]
    reason = "no file of torch" if "weights_only" in reason else reason
    return damaged(file, f"cannot be read: {shortened(reason)}")
