"""The text of an older params.yaml, rewritten section by section, so that comments and layout stay where they can."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import ALL
from adaptbert.errors import BadParams
from adaptbert.project.editing import params_text
from adaptbert.project.migration import ladder_text
from adaptbert.project.migration.document import BELOW_ALL, RUNGS_ABOVE, Migrated
from adaptbert.project.migration.names import Names
from adaptbert.project.migration.starts import OF_START

_STALE = {
    "# Every value that changes a result. Values are repeated between sections rather than inherited, so that\n"
    "# `dvc params diff` shows each one where it acts. Another": "# Every value that changes a result. Values stand in "
    "`all`; a block with the name of a start, a corpus, a task or an arm\n# holds what differs there. Another",
    "# one section per task; further options:": "# values of all cells, and what differs in a task; further options:",
    "put the checkpoint into models/init and set\n# `pretrain.init: models/init` and `tokenizer.source: init`, both "
    "without a revision.": "import the checkpoint from a\n# folder: `adaptbert import DIR`.",
}
"""Comments of the older presets that are true no longer -> what is."""
_OF_PRESETS = (
    "Values are repeated between sections rather than inherited",
    "rungs (checkpoints) and cells (task x arm) to train",
    "corpora to transfer to; `general` is the control",
    "<task>-<from>: the rung that training starts from",
    "<task>-<arm>: the rung whose weights are fine-tuned",
    "`dvc params diff` shows each one where it acts",
    "one section per task; further options",
    "train | init (the tokenizer in models/init)",
    "scratch | models/init (a Hugging Face folder)",
    "of a model on the hub",
    "a commit; a branch may move",
    "put the checkpoint into models/init and set",
    "both without a revision.",
)
"""Comments of the older presets on what is no longer there."""
_COMMENT = re.compile(r"(?:^|\s)#(.*)$", re.MULTILINE)
_TAIL = re.compile(r"(?:[ \t]*\n)*\Z")


def rewritten(text: str, migrated: Migrated, file: Path) -> tuple[str, bool]:
    """The new text, and whether it has the comments of the older one.

    A text that cannot be changed in parts (one flow mapping, anchors) is written anew from its values.
    """
    from ruamel.yaml.error import YAMLError

    try:
        new = _in_parts(text, migrated)
        params_text.check_means(new, migrated.document, file, "")
    except (BadParams, YAMLError, ValueError, StopIteration):
        return _anew(migrated.document, file), False
    return new, True


def lost_comments(text: str, new: str) -> list[str]:
    """Comments of the older text that the new one has not, without those of the presets."""
    comments = dict.fromkeys(match[1].strip() for match in _COMMENT.finditer(text))
    return [each for each in comments if each not in new and not any(known in each for known in _OF_PRESETS)]


def _in_parts(text: str, migrated: Migrated) -> str:
    for stale, present in _STALE.items():
        text = text.replace(stale, present)
    parts = params_text.sections(_with_names(text, migrated.names))
    if not parts:
        raise ValueError("one flow mapping")
    document = migrated.document
    for name, part in parts.items():
        tail = _TAIL.search(part)
        assert tail is not None
        if name == "ladder":
            above = part[: params_text.line_of(part, [name]).start]
            parts[name] = above + ladder_text.text(document["ladder"]).rstrip("\n") + tail[0]
        elif name in BELOW_ALL:
            parts[name] = _below_all(part, name)
        elif name == "finetune":
            parts[name] = _finetune(part, document["finetune"])
    whole = "".join(parts.values())
    for name in (name for name in RUNGS_ABOVE if name not in parts):
        whole += f"\n{name}: {{}}\n"
    return _with_encoder(whole, text, migrated)


def _with_names(text: str, names: Names) -> str:
    """With the present names of corpora and tasks, where the sections that stay name them."""
    from ruamel.yaml import YAML

    document = YAML(typ="safe", pure=True).load(text)
    for section, renames in (("collect", names.corpora), ("collect_task", names.tasks), ("finetune", names.tasks)):
        for name, new in renames.items():
            if new != name and name in document[section]:
                text = params_text.renamed(text, [section, name], new)
    tokenizer = document["tokenizer"]
    for path, values in ((["tokenizer"], tokenizer), (["tokenizer", "extend"], tokenizer.get("extend"))):
        corpora = values.get("corpora") if isinstance(values, Mapping) else None
        if isinstance(corpora, list):
            text = params_text.replaced(text, [*path, "corpora"], [names.corpora.get(name, name) for name in corpora])
    return text


def _with_encoder(whole: str, text: str, migrated: Migrated) -> str:
    """With the encoder as the user wrote it, in one line: numbers such as 3_072 stay."""
    if migrated.start.values.get("encoder") is None:
        return whole
    written = params_text.source(text, ["pretrain", "encoder"])
    generated = params_text.flow(migrated.start.values["encoder"])
    return whole.replace(generated, written, 1) if written.startswith("{") and "\n" not in written else whole


def _below_all(part: str, name: str) -> str:
    """The values of a section, each line two blanks further in, without those that the start has now."""
    for key in OF_START.get(name, ()):
        if params_text.has(part, [name, key]):
            part = params_text.removed(part, [name, key])
    value = params_text.source(part, [name])
    line, (_, end) = params_text.line_of(part, [name]), params_text.lines(part, [name])
    if value.startswith("{"):
        place = part.index(value, line.start)
        return f"{part[:place].rstrip(' ')}\n  {ALL}: {part[place:]}"
    return f"{part[: line.stop]}  {ALL}:\n{_indented(part[line.stop : end])}{part[end:]}"


def _finetune(part: str, new: Mapping[str, Any]) -> str:
    _, end = params_text.lines(part, ["finetune"])
    entries = params_text.entries(part, ["finetune"])
    if not entries:
        raise ValueError("no block of a task")
    head = part[: params_text.line_of(part, ["finetune"]).stop]
    blocks = []
    for number, (task, entry) in enumerate(entries.items()):
        if number == 0:
            blocks.append(_key_alone(params_text.renamed(_only(entry, task, new[ALL]), [task], ALL)))
        if task in new:
            blocks.append(_only(entry, task, new[task]))
    return head + "".join(blocks) + part[end:]


def _only(entry: str, task: str, values: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """The lines of a task, without those for which there is no value."""
    for key in params_text.keys(entry, [task, *path]):
        if key not in values:
            entry = params_text.removed(entry, [task, *path, key])
        elif isinstance(values[key], Mapping) and params_text.keys(entry, [task, *path, key]):
            entry = _only(entry, task, values[key], (*path, key))
    return entry


def _key_alone(entry: str) -> str:
    """The block `all`, without the comments of the task that it was."""
    key = params_text.line_of(entry, [ALL])
    return re.sub(r"^([^#]*:) *#.*", r"\1", entry[key]) + entry[key.stop :]


def _indented(lines: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in lines.splitlines(keepends=True))


def _anew(document: Mapping[str, Any], file: Path) -> str:
    from ruamel.yaml import YAML

    yaml, stream = YAML(typ="safe", pure=True), StringIO()
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.default_flow_style = None
    yaml.width = 100_000
    yaml.dump(dict(document), stream)
    text = stream.getvalue()
    params_text.check_means(text, document, file, "write its values without anchors, and run again")
    return text
