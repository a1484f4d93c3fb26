"""An imported checkpoint as a start: its entries in params.yaml and ladder.yaml.

A public checkpoint has general pre-training behind it, so its own block of `pretrain` has a budget of 0 where that of
`all` is another one. The import itself does not depend on params.yaml: where this cannot be changed, the lines to write
are shown.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.expansion import LADDER
from adaptbert.base.ladder import ALL, is_name, why_no_name
from adaptbert.base.start import FOLDERS
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError
from adaptbert.project.editing import both_files, params_text
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all

_HIGH = 2.0e-4
"""Learning rates above this one are those of random weights (Devlin et al. 2019, appendix A: 1e-4 to 2e-5)."""
_TRAINED = {"domain_transfer": 5.0e-5, "task_transfer": 5.0e-5, "finetune": 3.0e-5}
"""Sections that train a checkpoint further -> a usual learning rate."""


def check_name(name: str, file: Path) -> None:
    """Refuse a name that cannot be that of this start, before anything is read.

    Raises:
        BadParams: it is none, is taken, or is that of a start which is another one.
    """
    if not is_name(name):
        raise BadParams(Code.BAD_NAME, f"--start {name}", *why_no_name(name))
    try:
        document = _valid(file)
    except UserError:
        return  # `add` says why it cannot be added
    places = {"collect": document["collect"], "collect_task": document["collect_task"]}
    places["ladder.arms"] = document["ladder"]["arms"]
    owner = next((place for place, names in places.items() if name in names), None)
    if owner is not None:
        problem = f"'{name}' is in {owner}, and a block of this name could mean either"
        raise BadParams(Code.BAD_NAME, f"--start {name}", problem, "choose another one: --start NAME")
    start = document["ladder"]["starts"].get(name, {"init": f"{FOLDERS}{name}"})
    if start["init"] != f"{FOLDERS}{name}":
        problem = f"the start {name} is {start['init']}"
        remedy = f"write `{name}: {{init: {FOLDERS}{name}}}` and import again, or choose another one: --start NAME"
        raise BadParams(Code.CONTRADICTION, f"{file}: ladder.starts.{name}", problem, remedy)


def add(name: str, file: Path) -> list[str]:
    """Write the start into params.yaml, unless it is there, and ladder.yaml with it.

    Returns:
        What was done, and what it means; where nothing could be written, what to write.
    """
    start = {"init": f"{FOLDERS}{name}"}
    try:
        document = _valid(file)
        if name in document["ladder"]["starts"]:
            return [f"{file} has the start {name} already"]
        return [*_written(name, start, document, file), *_rates(name, document)]
    except UserError as error:
        first = str(error).splitlines()[0]
        by_hand = f"add it below ladder.starts, then run `adaptbert ladder`:  {name}: {params_text.flow(start)}"
        return [f"{file} is unchanged, because of an error in it: {first}", by_hand]


def _valid(file: Path) -> dict[str, Any]:
    document = params.read(file)
    check_all(document, file)
    return document


def _written(name: str, start: Mapping[str, str], document: Mapping[str, Any], file: Path) -> Iterator[str]:
    starts = {**document["ladder"]["starts"], name: start}
    changed = {**document, "ladder": {**document["ladder"], "starts": starts}}
    block = {"budget": {"tokens": 0}}
    is_trained = any(document["pretrain"][ALL]["budget"].values())
    if is_trained:
        changed["pretrain"] = {**document["pretrain"], name: block}
    entries = {("ladder", "starts", name): start, **({("pretrain", name): block} if is_trained else {})}
    by_hand = f"write `{name}: {params_text.flow(start)}` below ladder.starts"
    both_files.write(params_text.added(entries, changed, file, by_hand, in_one_line=True), changed, file)
    yield f"{file}: ladder.starts has {name}: {params_text.flow(start)}; {LADDER} is written as well"
    if is_trained:
        yield f"{file}: pretrain.{name} has a budget of 0, because general pre-training is behind this checkpoint"
    others = [other for other in starts if other != name]
    if others:
        alone = (
            f"to train from {name} alone, remove {', '.join(others)} from ladder.starts, then run `adaptbert ladder`"
        )
        yield f"every arm is now trained from {len(starts)} starts; {alone}"


def _rates(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    """A notice on learning rates that would undo what a checkpoint has learnt."""
    for section, usual in _TRAINED.items():
        rate = blocks.in_force(document[section], [name]).get("optim", {}).get("learning_rate", 0)
        if rate > _HIGH:
            block = f"{section}.{name}: {{optim: {{learning_rate: {usual:.1e}}}}}".replace("e-0", "e-")
            yield f"notice: {section}.all has a learning rate of {rate:g}, which is for random weights; add {block}"
