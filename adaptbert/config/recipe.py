"""params.yaml as a whole, typed: what is the same for all, and the values in force for each entry of the plan.

    finetune: {epochs: 3}
    overrides:
      mood: {finetune: {epochs: 6}}

What stands in `overrides` under the name of a base, a corpus, a task or an arm wins over the section, a later name over
an earlier one; mappings are merged key by key. Defaults of the schema come last, because some depend on the weights of
the base.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.schema.bases import DOMAIN, FOLDERS, GENERAL, Arm, Arms, Base, BaseValue, arms_of, is_of
from adaptbert.config.schema.comparison import Compare
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import BUDGET, DomainTransfer, Pretrain, TaskTransfer
from adaptbert.config.schema.section import Name, Section, Seed, contradiction, is_name
from adaptbert.config.schema.sources import Corpus, Limits, Task
from adaptbert.config.schema.text import Measure, Tokenize, Vocabulary
from adaptbert.errors import BadParams, UserError, nearest, raise_all

PARAMS = Path("params.yaml")
SECTIONS: Mapping[str, tuple[type[Section], tuple[str, ...]]] = {
    "tokenizer": (Vocabulary, ("base",)),
    "tokenize": (Tokenize, ("base",)),
    "measure": (Measure, ("base",)),
    "pretrain": (Pretrain, ("base",)),
    "domain_transfer": (DomainTransfer, ("base", "corpus")),
    "task_transfer": (TaskTransfer, ("base", "task")),
    "finetune": (Finetune, ("base", "task", "arm")),
}
"""Section whose values can differ -> its class, and the kinds of names that `overrides` can have for it; later ones
win."""
KINDS = {"base": "bases", "corpus": "corpora", "task": "tasks", "arm": "arms"}
"""Kind of name -> the section that has such names."""


Layer = tuple[str, Mapping[str, Any]]
"""Values of a section, and the place where they stand: the section or an override."""


def _mapping(value: object) -> object:
    """A section without a value is an empty one."""
    return {} if value is None else value


Values = Annotated[dict[str, Any], BeforeValidator(_mapping)]


class _Steps(Section):
    """The sections whose values can differ, as they are written: of a whole recipe, or under one name."""

    tokenizer: Values = {}
    tokenize: Values = {}
    measure: Values = {}
    pretrain: Values = {}
    domain_transfer: Values = {}
    task_transfer: Values = {}
    finetune: Values = {}


class Document(_Steps):
    """The keys of params.yaml."""

    seed: Seed = 1
    """Determines document order, masks and dropout. Fine-tuning has its own seeds."""
    base: BaseValue | None = None
    """What all weights begin with: one of `base` and `bases`. A text is the name or the folder of a checkpoint."""
    bases: dict[Name, BaseValue] | None = None
    """Several by name, which are compared."""
    corpora: dict[Name, Corpus]
    tasks: dict[Name, Task]
    arms: Arms | None = None
    """Which steps precede fine-tuning: a mapping, or a list of known names: `scratch`, `general`, `general_long`,
    `domain`, `task`, `domain_task`, `scratch_task`, `general_long_task`. Left out: the second to the sixth, of which
    three need a corpus `domain`."""
    validation: Annotated[Limits, BeforeValidator(_mapping), Field(alias="validate")] = Limits()
    compare: Annotated[Compare, BeforeValidator(_mapping)] = Compare()
    overrides: Annotated[dict[str, Annotated[_Steps, BeforeValidator(_mapping)]], BeforeValidator(_mapping)] = {}
    """Values of a section that differ for a base, a corpus, a task or an arm, under its name."""

    @model_validator(mode="after")
    def _has_a_base(self) -> "Document":
        if (self.base is None) == (self.bases is None) or self.bases == {}:
            remedy = "write one of them, e.g. `base: google-bert/bert-base-uncased`"
            raise contradiction("neither base nor bases" if self.base is None else "base and bases", remedy)
        return self


class Recipe:
    """params.yaml, read and valid section by section.

    Attributes:
        file: for messages.
        written: the file as plain dicts and lists.
        bases, corpora, tasks, arms: in the order of the file.
    """

    def __init__(self, written: Mapping[str, Any], file: Path = PARAMS) -> None:
        self.file, self.written = file, dict(written)
        self._document = document = load.parse(Document, self.written, "", file)
        self.seed = document.seed
        self.bases: dict[str, Base] = document.bases or {}
        if document.base is not None:
            self.bases = {_name_of(document.base): document.base}
        self.corpora, self.tasks, self.compare, self.limits = (
            document.corpora,
            document.tasks,
            document.compare,
            document.validation,
        )
        self.arms: dict[str, Arm] = arms_of(document.arms, self.corpora)
        for section, sources in (("corpora", self.corpora), ("tasks", self.tasks)):
            for name, source in sources.items():
                source._key = f"{section}.{name}"

    @property
    def again(self) -> dict[str, str]:
        """A/A arm -> the arm whose checkpoints it trains once more."""
        return {name: arm.again for name, arm in self.arms.items() if arm.again is not None}

    def names(self) -> dict[str, Mapping[str, Any]]:
        """Kind -> what has such a name."""
        return {"base": self.bases, "corpus": self.corpora, "task": self.tasks, "arm": self.arms}

    def arms_of(self, task: str, base: str) -> dict[str, Arm]:
        """The arms of a task from a base."""
        return {name: arm for name, arm in self.arms.items() if is_of(arm, task, base)}

    def cells(self) -> list[dict[str, str]]:
        """The names of everything that is fine-tuned, but for the replicates."""
        return [
            {"base": base, "task": task, "arm": arm}
            for task in self.tasks
            for base in self.bases
            for arm in self.arms_of(task, base)
        ]

    def values(self, section: str, names: Mapping[str, str]) -> Any:
        """What is in force for an entry, as an object of the section's class.

        Args:
            names: by kind; those that `SECTIONS` does not name for the section change nothing.

        Raises:
            BadParams: with the place where each wrong value stands.
        """
        cls, kinds = SECTIONS[section]
        layers = self._layers(section, [names[kind] for kind in kinds])
        try:
            return self._parsed(cls, section, layers, names["base"])
        except UserError as error:
            below = [self._wrong(cls, section, layers[:number], names["base"]) for number in range(1, len(layers))]
            raise_all([_owned(failure, layers, below, section, self.file) for failure in _failures(error)])
            raise

    def _parsed(self, cls: type[Section], section: str, layers: Sequence[Layer], base: str) -> Any:
        merged: dict[str, Any] = {}
        for _, values in layers:
            merged = _merged(merged, values)
        filled = cls.filled(merged, random=self.bases[base].is_random)
        if cls is Vocabulary and filled.get("corpora") is None:
            filled["corpora"] = [name for name in (GENERAL, DOMAIN) if name in self.corpora]
        return load.parse(cls, filled, section, self.file)

    def _wrong(self, cls: type[Section], section: str, layers: Sequence[Layer], base: str) -> set[str]:
        """What is wrong already without the layers above."""
        try:
            self._parsed(cls, section, layers, base)
        except UserError as error:
            return {str(failure) for failure in _failures(error)}
        return set()

    def place(self, section: str, names: Mapping[str, str], *keys: str) -> str:
        """The dotted key of a value that is in force for an entry: where it is written, else in the section."""
        layers = self._layers(section, [names[kind] for kind in SECTIONS[section][1]])
        owner = next((place for place, values in reversed(layers) if _has(values, keys)), section)
        return ".".join([owner, *keys])

    def overriding(self, section: str, names: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
        """What differs from the section for an entry, by the name under which it stands."""
        _, *layers = [(section, {}), *self._layers(section, [names[kind] for kind in SECTIONS[section][1]])]
        return {place.split(".")[1]: values for place, values in layers if place != section}

    def _layers(self, section: str, names: Sequence[str]) -> list[Layer]:
        """The section and its overrides for these names, each with its place, as far as they are written."""
        layers = [(section, getattr(self._document, section))] if section in self.written else []
        for name in names:
            if (own := self._document.overrides.get(name)) is not None and section in own.model_fields_set:
                layers.append((f"overrides.{name}.{section}", getattr(own, section)))
        return layers

    def overrides(self) -> dict[str, set[str]]:
        """Name -> the sections in which something differs for it."""
        return {name: set(own.model_fields_set) for name, own in self._document.overrides.items()}


def _name_of(base: Base) -> str:
    """Of the one base: that of its folder, else `base`, whatever the checkpoint is called."""
    name = (base.checkpoint or "").removeprefix(FOLDERS)
    return name if base.is_folder and is_name(name) else "base"


def read(path: Path = PARAMS) -> Recipe:
    """The recipe in a file.

    Raises:
        BadParams: it cannot be read, or a section is wrong by itself.
    """
    return Recipe(load.read(path), path)


def errors(recipe: Recipe) -> list[UserError]:
    """All that is wrong in the values that some entry has, and overrides that none has."""
    by_message: dict[str, UserError] = {}
    by_kind = {"base": list(recipe.bases), "corpus": list(recipe.corpora), "task": list(recipe.tasks)}
    for section, (_, kinds) in SECTIONS.items():
        if kinds == ("base", "task", "arm"):
            entries = recipe.cells() or [{"base": base, "task": "", "arm": ""} for base in recipe.bases]
        else:
            entries = [{}]
            for kind in kinds:
                entries = [{**entry, kind: name} for entry in entries for name in by_kind[kind]]
        for names in entries:
            try:
                recipe.values(section, names)
            except UserError as error:
                by_message |= {str(failure): failure for failure in _failures(error)}
    return [*by_message.values(), *_without_an_owner(recipe)]


def _without_an_owner(recipe: Recipe) -> list[UserError]:
    """Overrides under a name that nothing has, or that its kind of thing does not read."""
    names, wrong = recipe.names(), []
    for name, sections in recipe.overrides().items():
        kinds = [kind for kind, known in names.items() if name in known]
        if not kinds:
            known = [each for kind in names.values() for each in kind]
            problem = f"'{name}' is no base, corpus, task or arm{nearest(name, known)}"
            place = f"{recipe.file}: overrides.{name}"
            wrong.append(BadParams(Code.UNKNOWN_KEY, place, problem, f"known: {', '.join(dict.fromkeys(known))}"))
            continue
        for section in sorted(sections):
            if not set(kinds) & set(SECTIONS[section][1]):
                readers = " or ".join(SECTIONS[section][1])
                problem = f"'{name}' is a name in {KINDS[kinds[0]]}, and {section} differs by {readers}"
                place = f"{recipe.file}: overrides.{name}.{section}"
                wrong.append(BadParams(Code.CONTRADICTION, place, problem, f"write it into {section}, for all"))
    return list(wrong)


def _merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    if any(key in others for key in BUDGET):  # one budget takes the place of another
        merged = {key: value for key, value in merged.items() if key not in BUDGET}
    for key, other in others.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(other, Mapping)
        merged[key] = _merged(below, other) if both else other  # type: ignore[arg-type]
    return merged


def _failures(error: UserError) -> list[UserError]:
    return getattr(error, "failures", [error])


def _owned(
    failure: UserError, layers: Sequence[Layer], below: Sequence[set[str]], section: str, file: Path
) -> BadParams:
    """With the place of the override in which the value stands, or of the layer from which on values disagree.

    Args:
        below: what is wrong already with the first layer, with the first two, and so on.
    """
    first = next((number for number, wrong in enumerate(below, 1) if str(failure) in wrong), len(layers))
    layers = layers[:first]
    path = failure.place.removeprefix(f"{file}: {section}").removeprefix(".")
    keys = path.split(".") if path else []
    owner = next((place for place, values in reversed(layers) if _has(values, keys)), section)
    return BadParams(failure.code, f"{file}: {'.'.join([owner, *keys])}", failure.problem, failure.remedy)


def _has(values: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True
