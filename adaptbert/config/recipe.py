"""params.yaml as a whole, typed: what is the same for all, and the values in force for each entry of the plan.

    finetune: {epochs: 3}
    overrides:
      mood: {finetune: {epochs: 6}}

What stands in `overrides` under the name of a base, a corpus, a task or an arm wins over the section, a later name over
an earlier one; mappings are merged key by key. Defaults of the schema come last, because some depend on the weights of
the base.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.schema.bases import ARMS, DOMAIN, FOLDERS, GENERAL, Arm, Arms, Base, BaseValue, usual_arms
from adaptbert.config.schema.comparison import Compare
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import BUDGET, DomainTransfer, MlmStep, Pretrain, TaskTransfer
from adaptbert.config.schema.section import Contradiction, Differs, Name, Section, Seed, Values, empty, is_name
from adaptbert.config.schema.sources import Corpus, Limits, Task
from adaptbert.config.schema.text import Measure, Tokenize, Vocabulary
from adaptbert.errors import BadParams, Place, UserError, failures_of, nearest, raise_all

PARAMS = Path("params.yaml")
KINDS = {"base": "bases", "corpus": "corpora", "task": "tasks", "arm": "arms"}
"""Kind of name -> the section that has such names."""

Layer = tuple[tuple[str, ...], Mapping[str, Any]]
"""The keys of a section or an override, and the values that stand there."""


class _Sections(Section):
    """The sections whose values can differ, as they are written: of a whole recipe, or under one name."""

    tokenizer: Annotated[Values, Differs(Vocabulary, ("base",))] = {}
    tokenize: Annotated[Values, Differs(Tokenize, ("base",))] = {}
    measure: Annotated[Values, Differs(Measure, ("base",))] = {}
    pretrain: Annotated[Values, Differs(Pretrain, ("base",))] = {}
    domain_transfer: Annotated[Values, Differs(DomainTransfer, ("base", "corpus"))] = {}
    task_transfer: Annotated[Values, Differs(TaskTransfer, ("base", "task"))] = {}
    finetune: Annotated[Values, Differs(Finetune, ("base", "task", "arm"))] = {}


SECTIONS = {
    name: differs
    for name, field in _Sections.model_fields.items()
    for differs in field.metadata
    if isinstance(differs, Differs)
}
"""Section whose values can differ -> its class, and the kinds of names that `overrides` can have for it."""


class Document(_Sections):
    """The keys of params.yaml."""

    seed: Seed = 1
    """Determines document order, masks and dropout. Fine-tuning has its own seeds."""
    base: BaseValue | None = None
    """What all weights begin with: one of `base` and `bases`. A text is the name or the folder of a checkpoint."""
    bases: dict[Name, BaseValue] | None = None
    """Several bases by name, which are compared."""
    corpora: Annotated[dict[Name, Corpus], BeforeValidator(empty)] = {}
    """Unlabelled text. `general` is that of general pre-training and of its control, and is mixed into domain transfer;
    none is obligatory."""
    tasks: dict[Name, Task]
    arms: Arms | None = None
    """Which steps precede fine-tuning: a mapping by name, or a list of known names and of such mappings: `[general,
    {news: {domain_transfer: news}}]`. Left out: `general`, `general_long`, `domain`, `task` and `domain_task`, as far
    as the corpora `general` and `domain` allow."""
    validation: Annotated[Limits, BeforeValidator(empty), Field(alias="validate")] = Limits()
    compare: Annotated[Compare, BeforeValidator(empty)] = Compare()
    overrides: Annotated[dict[str, Annotated[_Sections, BeforeValidator(empty)]], BeforeValidator(empty)] = {}
    """Values of a section that differ for a base, a corpus, a task or an arm, under its name."""

    def _agree(self) -> None:
        if (self.base is None) == (self.bases is None) or self.bases == {}:
            remedy = "write one of them, e.g. `base: google-bert/bert-base-uncased`"
            raise Contradiction("neither base nor bases" if self.base is None else "base and bases", remedy)


class Recipe:
    """params.yaml, read and valid section by section.

    Attributes:
        file: for messages.
        written: the file as plain dicts and lists.
        bases, corpora, tasks, arms: in the order of the file.
        overrides: name -> section -> what differs for it, as it is written.
    """

    def __init__(self, written: Mapping[str, Any], file: Path = PARAMS) -> None:
        """Raises BadParams: with what is wrong whatever else is mended."""
        self.file, self.written = file, dict(written)
        try:
            document = load.parse(Document, self.written, "", file)
        except UserError as error:
            raise_all([*error.failures, *_wrong_for_any_base(written, file)])
            raise
        self._sections = document.model_dump(include={*SECTIONS}, exclude_unset=True)
        self.overrides: dict[str, dict[str, Mapping[str, Any]]] = {
            name: own.model_dump(exclude_unset=True) for name, own in document.overrides.items()
        }
        self.seed = document.seed
        self.bases: dict[str, Base] = document.bases or {}
        if document.base is not None:
            self.bases = {_name_of(document.base): document.base}
        self.corpora, self.tasks = document.corpora, document.tasks
        self.compare, self.limits = document.compare, document.validation
        self.arms: dict[str, Arm] = document.arms or {
            name: Arm.model_validate(ARMS[name]) for name in usual_arms(self.corpora)
        }
        for section, sources in (("corpora", self.corpora), ("tasks", self.tasks)):
            for name, source in sources.items():
                source._key = f"{section}.{name}"

    def names(self) -> dict[str, Mapping[str, Any]]:
        """Kind -> what has such a name."""
        return {"base": self.bases, "corpus": self.corpora, "task": self.tasks, "arm": self.arms}

    def cells(self) -> list[dict[str, str]]:
        """The names of everything that is fine-tuned, but for the replicates."""
        return [
            {"base": base, "task": task, "arm": name}
            for task in self.tasks
            for base in self.bases
            for name, arm in self.arms.items()
            if arm.is_of(task, base)
        ]

    def uses_pretraining(self, base: str) -> bool:
        """Whether some arm begins with general pre-training of the base; also where it has no arm."""
        arms = [self.arms[cell["arm"]] for cell in self.cells() if cell["base"] == base]
        return not arms or any(not arm.trained_on.is_random for arm in arms)

    def entries(self, section: str) -> list[dict[str, str]]:
        """The names of all for which a section can differ."""
        kinds, names = SECTIONS[section].by, self.names()
        if "arm" in kinds:
            return self.cells()
        return [dict(zip(kinds, each, strict=True)) for each in product(*(names[kind] for kind in kinds))]

    def values(self, section: str, names: Mapping[str, str]) -> Any:
        """What is in force for an entry, as an object of the section's class.

        Args:
            names: by kind; those that `SECTIONS` does not name for the section change nothing.

        Raises:
            BadParams: with the place where each wrong value stands.
        """
        layers, base = self._layers(section, names), names["base"]
        try:
            return self._parsed(section, layers, base)
        except UserError as error:
            raise_all([self._located(failure, section, layers, base) for failure in error.failures])
            raise

    def params(self, stage: str, names: Mapping[str, str]) -> Any:
        """What a stage is given as `params`: the source that it reads, or the values in force of its section."""
        match stage:
            case "collect":
                return self.corpora[names["corpus"]]
            case "collect_task":
                return self.tasks[names["task"]]
            case "validate":
                return self.limits
            case "compare":
                return self.compare
        return self.values(stage, names)

    def _parsed(self, section: str, layers: Sequence[Layer], base: str) -> Any:
        """A section as if there were these layers; places are keys inside of it."""
        cls, values = SECTIONS[section].cls, dict[str, Any]()
        for _, written in layers:
            values = _merged(values, written)
        values = cls.filled(values, random=self.bases[base].is_random)
        # Defaults that follow from which corpora there are, and from what arms begin with.
        if cls is Vocabulary and values.get("corpora") is None:
            values["corpora"] = [name for name in (GENERAL, DOMAIN) if name in self.corpora]
        elif cls is Pretrain and all(values.get(key) is None for key in BUDGET):
            if not (GENERAL in self.corpora and self.uses_pretraining(base)):
                values["tokens"] = 0
        elif cls is DomainTransfer and GENERAL not in self.corpora:
            values.setdefault("replay_fraction", 0.0)
        return load.parse(cls, values, "", self.file)

    def _located(self, failure: UserError, section: str, layers: Sequence[Layer], base: str) -> UserError:
        """Locates an error at the layer that has the value; if values disagree, at the one with which they begin to."""
        for number in range(1, len(layers)):
            below = failures_of(self._parsed, section, layers[:number], base)
            if str(failure) in map(str, below):
                layers = layers[:number]
                break
        return failure.at(self._at(section, layers, failure.place.keys))

    def place(self, section: str, names: Mapping[str, str], *keys: str) -> Place:
        """Place of a value that is in force for an entry: where it is written, else in the section."""
        return self._at(section, self._layers(section, names), keys)

    def _at(self, section: str, layers: Sequence[Layer], keys: tuple[str, ...]) -> Place:
        owner = next((place for place, values in reversed(layers) if _has(values, keys)), (section,))
        return self.at(*owner, *keys)

    def at(self, *keys: str) -> Place:
        """The place of keys in the file."""
        return Place(str(self.file), keys)

    def base_place(self, base: str) -> Place:
        """Place of a base in the file."""
        return self.at("base") if "base" in self.written else self.at("bases", base)

    def overriding(self, section: str, names: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
        """What differs from the section for an entry, by the name under which it stands; later ones win."""
        owners = (names[kind] for kind in SECTIONS[section].by)
        return {name: self.overrides[name][section] for name in owners if section in self.overrides.get(name, {})}

    def _layers(self, section: str, names: Mapping[str, str]) -> list[Layer]:
        """The section and its overrides for these names, as far as they are written; later ones win."""
        whole = [((section,), self._sections[section])] if section in self._sections else []
        differing = self.overriding(section, names).items()
        return [*whole, *((("overrides", name, section), values) for name, values in differing)]


def _name_of(base: Base) -> str:
    """Name of the one base: that of its folder, else `base`, whatever the checkpoint is called."""
    name = (base.checkpoint or "").removeprefix(FOLDERS)
    return name if base.is_folder and is_name(name) else "base"


def read(path: Path = PARAMS) -> Recipe:
    """The recipe in a file.

    Raises:
        BadParams: it cannot be read, or a section is wrong by itself.
    """
    return Recipe(load.read(path), path)


def budget(step: MlmStep) -> tuple[int, str]:
    """Budget of a masked-language step: a number, and its unit; 0 for a checkpoint that is taken as it is."""
    return next((size, unit) for unit in BUDGET if (size := getattr(step, unit)) is not None)


def errors(recipe: Recipe) -> list[UserError]:
    """All that is wrong in the values that some entry has, and overrides that none has."""
    wrong = [
        failure
        for section in SECTIONS
        for names in recipe.entries(section)
        for failure in failures_of(recipe.values, section, names)
    ]
    return [*wrong, *_without_an_owner(recipe)]


def _wrong_for_any_base(written: Mapping[str, Any], file: Path) -> list[UserError]:
    """What is wrong in the sections by themselves, where bases, corpora or tasks are not known."""
    wrong: list[UserError] = []
    for section, (cls, _) in SECTIONS.items():
        if isinstance(values := written.get(section), Mapping):
            for_random, for_trained = (
                failures_of(load.parse, cls, cls.filled(values, random=random), section, file)
                for random in (True, False)
            )
            wrong += [each for each in for_random if str(each) in map(str, for_trained)]
    return wrong


def _without_an_owner(recipe: Recipe) -> Iterator[UserError]:
    """Overrides under a name that nothing has, or that its kind of thing does not read."""
    names = recipe.names()
    for name, sections in recipe.overrides.items():
        kinds = [kind for kind, known in names.items() if name in known]
        if not kinds:
            known = list(dict.fromkeys(each for kind in names.values() for each in kind))
            problem = f"'{name}' is no base, corpus, task or arm{nearest(name, known)}"
            yield BadParams(Code.UNKNOWN_KEY, recipe.at("overrides", name), problem, f"known: {', '.join(known)}")
        for section in sorted(sections) if kinds else ():
            if not set(kinds) & set(SECTIONS[section].by):
                readers = " or ".join(SECTIONS[section].by)
                problem = f"'{name}' is a name in {KINDS[kinds[0]]}, and {section} differs by {readers}"
                place = recipe.at("overrides", name, section)
                yield BadParams(Code.CONTRADICTION, place, problem, f"write it into {section}, for all")


def _merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    if any(key in others for key in BUDGET):  # one budget takes the place of another
        merged = {key: value for key, value in merged.items() if key not in BUDGET}
    for key, other in others.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(other, Mapping)
        merged[key] = _merged(below, other) if both else other  # type: ignore[arg-type]
    return merged


def _has(values: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True
