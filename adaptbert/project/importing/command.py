"""`adaptbert import`: a public checkpoint -> models/init/<start>, and the start in params.yaml."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from adaptbert.base.files import atomic_write, write_json
from adaptbert.base.ladder import ALL
from adaptbert.base.start import FOLDERS
from adaptbert.codes import Code
from adaptbert.comparison.amounts import bytes_of
from adaptbert.errors import BadParams, printable
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CONFIG, WEIGHTS
from adaptbert.project.importing import start_entry, tokenizer_files, weights
from adaptbert.project.importing import target as place
from adaptbert.project.importing.source import Source, find, speaking_of
from adaptbert.project.importing.start_names import of_model
from adaptbert.project.importing.weights import Written
from adaptbert.runtime.locks import stage_lock
from adaptbert.runtime.stage import PARAMS

INIT = Path("models/init")
_SHOWN = 6

Sizes = tuple[int, int, int, int, int]
"""Layers, hidden size, positions, tokens of the vocabulary, rows of the embeddings."""


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        to: the folder.
        start: the start that it is; None: a folder elsewhere.
        is_new: whether it was written; else it held this checkpoint already.
        source: what was read.
        sizes: of the model.
        written: the weights.
        notes: what was assumed, and what looks wrong.
        in_params: what was done in params.yaml.
    """

    to: Path
    start: str | None
    is_new: bool
    source: Source
    sizes: Sizes
    written: Written
    notes: list[str]
    in_params: list[str]

    def __str__(self) -> str:
        return printable("\n".join([*self._content(), *self._lacks(), *self._left_out(), *self._params()]))

    def _content(self) -> list[str]:
        source, written = self.source, self.written
        layers, hidden, positions, tokens, rows = self.sizes
        size = (self.to / WEIGHTS).stat().st_size
        files = ", ".join(path.name for path in place.own_files(self.to))
        lines = [f"{source.label}: commit {source.commit}"] if source.commit else []
        lines.append(f"{self.to}: {files}" if self.is_new else f"{self.to}: already there, nothing was written")
        lines.append(
            f"BERT with {layers} layers of {hidden}, {positions} positions; {written.parameters:,} parameters, "
            f"{', '.join(written.dtypes)}, {bytes_of(size)}"
        )
        lines.append(f"vocabulary: {tokens:,} tokens" + ("" if tokens == rows else f", embeddings: {rows:,} rows"))
        if "roberta" in Path(source.label).name.lower():
            lines.append(
                "its name says RoBERTa, its architecture is BERT: it was trained in RoBERTa's way and works here"
            )
        return lines + [f"notice: {note}" for note in self.notes]

    def _lacks(self) -> list[str]:
        written = self.written
        lines = []
        if not written.has_head:
            lines.append(
                f"notice: no head for masked-language modelling: it begins untrained; "
                f"`pretrain.{self.start or ALL}.head_warmup_steps: 300` trains it first"
            )
        if not written.has_pooler:
            lines.append("notice: no pooler: fine-tuning on sentences and pairs begins with an untrained one")
        there = {"masked-LM head": written.has_head, "pooler": written.has_pooler}
        there["next-sentence head"] = written.has_sentence_head
        present = [name for name, is_there in there.items() if is_there]
        return [f"with {', '.join(present)}", *lines] if present else lines

    def _left_out(self) -> list[str]:
        return [
            f"{what}: {', '.join(names[:_SHOWN])}{f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''}"
            for what, names in (
                ("files left out", self.source.left_out),
                ("in the weights but not used", self.written.unused),
            )
            if names
        ]

    def _params(self) -> list[str]:
        if self.start is None:
            return [f"the stages read {FOLDERS}<start> only: import with --start NAME to train with this checkpoint"]
        lines = []
        if records := sorted(path.name for path in self.to.glob("*.dvc")):
            shown = ", ".join(records)
            lines = [f"DVC has records of the files of before ({shown}): run `dvc add` on the new ones"]
        return [*lines, *self.in_params]


def place_of(name: str, start: str | None, to: Path | None) -> tuple[str | None, Path]:
    """The start and its folder; no start with a folder elsewhere.

    Args:
        name: of the source.
        start, to: as the user says; None: by the source.

    Raises:
        BadParams: both, or a folder that only starts may have.
    """
    if to is not None:
        if start is not None:
            problem = "--to writes a folder, --start the one of a start"
            raise BadParams(Code.CONTRADICTION, f"--to {to}", problem, "leave one of the two out")
        if INIT.resolve() in (to.resolve(), to.resolve().parent):
            problem = f"a start lies in {FOLDERS}<start>"
            raise BadParams(Code.CONTRADICTION, f"--to {to}", problem, "leave --to out, and name it: --start NAME")
        return None, to
    called = start or of_model(Path(name).resolve().name if Path(name).is_dir() else name)
    return called, Path(f"{FOLDERS}{called}")


def import_checkpoint(
    name: str, revision: str | None, *, start: str | None = None, to: Path | None = None, force: bool = False
) -> Imported:
    """Bring a checkpoint into a folder of the project, all of it or nothing; then its start into params.yaml.

    Args:
        name: a folder, or a model of the hub.
        start: name of the start that it becomes; None: by its own name.
        to: a folder to write instead, which no stage reads.
        force: replace another checkpoint there.

    Raises:
        BadData: it cannot be used, or another checkpoint is there.
        BadParams: options that do not fit.
        Blocked: something else stands where the folder belongs.
    """
    start, to = place_of(name, start, to)
    if start is not None and not PARAMS.is_file():
        remedy = "change to the folder of the project, or choose a folder with --to"
        raise BadParams(Code.NO_PARAMS, Path.cwd(), "no params.yaml: not the folder of the project", remedy)
    if start is not None:
        start_entry.check_name(start, PARAMS)
    folder = Path(os.path.realpath(to))
    with stage_lock("import"):
        place.recover(folder)
        place.check(to, name)
        source = find(name, revision)
        ready = folder.with_name(f".{folder.name}.import.part")
        try:
            with atomic_write(ready) as part:
                part.mkdir()
                sizes, written, notes = _write(source, part)
                place.keep(folder, part)
            if not (is_same := place.is_equal(folder, ready)):
                if not force:
                    place.refuse_other(to)
                place.put(ready, folder)
        finally:
            shutil.rmtree(ready, ignore_errors=True)
    in_params = start_entry.add(start, PARAMS) if start is not None else []
    return Imported(to, start, not is_same, source, sizes, written, notes, in_params)


def _write(source: Source, part: Path) -> tuple[Sizes, Written, list[str]]:
    """Write the files of a checkpoint and check them as every stage does."""
    if source.config_file is None:
        write_json(part / CONFIG, source.config)
    else:
        shutil.copyfile(source.config_file, part / CONFIG)
    with _speaking_of(source, part):
        tokens = tokenizer_files.write(source, part)
        left_out, notes = weights.write(source, part)
        if source.card:
            shutil.copyfile(source.card, part / source.card.name)
        checkpoint = Checkpoint.load(part)
        written = weights.inspect(part / WEIGHTS, checkpoint.config())
    written = replace(written, unused=[*written.unused, *left_out])
    return _sizes(checkpoint), written, [*source.notes, *tokens, *notes]


@contextmanager
def _speaking_of(source: Source, part: Path) -> Iterator[None]:
    """Errors name the files of the source, also where it is the written file that was checked."""
    file = source.weights[0].name if len(source.weights) == 1 else ""
    names = {source.folder: source.label, part: source.label, part / WEIGHTS: f"{source.label}/{file}".rstrip("/")}
    with ExitStack() as stack:
        for folder, label in names.items():  # the last one is the first to see an error
            stack.enter_context(speaking_of(folder, label))
        yield


def _sizes(checkpoint: Checkpoint) -> Sizes:
    config = checkpoint.config()
    numbers = (config.num_hidden_layers, config.hidden_size, config.max_position_embeddings)
    return (*numbers, checkpoint.tokenizer.size, config.vocab_size)
