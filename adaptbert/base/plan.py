"""Names of params.yaml -> every stage that DVC makes, each with the names that it is made of: what plan.json holds.

DVC makes its stages from plan.json, because it cannot look up the rung of an arm, count draws or leave combinations
out (docs/decisions/0019). The file has names only: values stay in params.yaml, free for `dvc exp run -S`.

A rung is named by its climb and never by an arm, so arms with one climb share it, and another name of an arm trains no
rung again. Its key is also its folder below models/<stage>, its metrics file and its MLflow run.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.base.config import Config
from adaptbert.base.ladder import ALL, NONE, Climb, LadderConfig
from adaptbert.base.start import FOLDERS
from adaptbert.codes import Code
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadParams

SCRATCH, PRETRAIN, DOMAIN_TRANSFER, TASK_TRANSFER = "scratch", "pretrain", "domain_transfer", "task_transfer"
MEASURE = "measure"

PLAN = Path("plan.json")
MOST_BYTES = 10_000_000
"""Of plan.json: some 70,000 rungs and cells, far more than DVC can run."""
WRITE = "run `adaptbert plan`, which writes it from params.yaml, then the same command again"

Blocks = Mapping[str, Collection[str]]
"""Section of params.yaml -> names of its blocks: `all`, and those of what differs."""


def seed_of_draw(seed: int, draw: int) -> int:
    """The first draw has the seed of params.yaml, so that one draw is what it was before there were several."""
    return seed if draw <= 1 else seed_of(seed, f"draw {draw}")


class Corpus(Config):
    """Unlabelled text that is collected.

    Attributes:
        path: what DVC watches.
    """

    path: str


class LabelledSet(Config):
    """A labelled set that is collected, by the files or folders that DVC watches."""

    train: str
    dev: str
    test: str


class Entry(Config):
    """A stage that DVC makes of names: a start's vocabulary or text, a rung, its measures, or a cell.

    A cell is task x arm x start x draw; its seeds are repeated inside. Fields beginning with `of_` name a block of the
    stage's section, `all` where there is no own one: DVC stops at a key of params.yaml that is missing.
    """

    start: str
    of_start: str = ""
    init: str = ""
    """What DVC watches of the weights of a start: the folder of a checkpoint, or a file that never changes."""
    dictionary: str = ""
    """Of the words of a start, which DVC watches."""
    draw: int = 0
    """From 1; 0: a rung, or a cell on a rung, that has no draws."""
    rung: Annotated[str, Field(alias="from")] = ""
    """The rung that it starts from or measures: its folder below models/."""
    corpus: str = ""
    of_corpus: str = ""
    task: str = ""
    arm: str = ""
    of_task: str = ""
    of_arm: str = ""

    def names(self) -> dict[str, str]:
        """What it is made of: start, draw, corpus, task, arm."""
        names = {name: getattr(self, name) for name in ("start", "corpus", "task", "arm")}
        draw = {"draw": str(self.draw)} if self.rung else {}
        return {name: value for name, value in names.items() if value} | draw


class Plan(Config):
    """All entries by key; the names of the tables are those of the stages."""

    code: dict[str, str] = Field(default_factory=dict)
    """Stage -> a digest of the code that decides what it writes (adaptbert.runtime.code_digest)."""
    collect: dict[str, Corpus] = Field(default_factory=dict)
    collect_task: dict[str, LabelledSet] = Field(default_factory=dict)
    tokenizer: dict[str, Entry] = Field(default_factory=dict)
    tokenize: dict[str, Entry] = Field(default_factory=dict)
    pretrain: dict[str, Entry] = Field(default_factory=dict)
    domain_transfer: dict[str, Entry] = Field(default_factory=dict)
    task_transfer: dict[str, Entry] = Field(default_factory=dict)
    measure: dict[str, Entry] = Field(default_factory=dict)
    finetune: dict[str, Entry] = Field(default_factory=dict)

    def starts_of_rungs(self) -> dict[str, str | None]:
        """Every rung by its folder below models/ -> the rung that it starts from; in the order of training."""
        rungs: dict[str, str | None] = {}
        for start in self.pretrain:
            rungs |= {f"{SCRATCH}/{start}": None, f"{PRETRAIN}/{start}": f"{SCRATCH}/{start}"}
        rungs |= {f"{DOMAIN_TRANSFER}/{key}": rung.rung for key, rung in self.domain_transfer.items()}
        return rungs | {f"{TASK_TRANSFER}/{key}": rung.rung for key, rung in self.task_transfer.items()}

    def shown(self) -> dict[str, str]:
        """Folder of a rung -> its name in tables and on the page: by start and draw only where there are several."""
        several_starts = len(self.pretrain) > 1
        draws = {rung.draw for rung in (*self.domain_transfer.values(), *self.task_transfer.values())}
        names = {}
        for folder in self.starts_of_rungs():
            stage, _, key = folder.partition("/")
            if stage in (SCRATCH, PRETRAIN):
                names[folder] = folder if several_starts else stage
                continue
            rung = self.domain_transfer[key] if stage == DOMAIN_TRANSFER else self.task_transfer[key]
            path = key.removesuffix(f"-{rung.start}-{rung.draw}")
            parts = [path, *([rung.start] if several_starts else []), *([str(rung.draw)] if len(draws) > 1 else [])]
            names[folder] = f"{stage}/{'-'.join(parts)}"
        return names

    def climb(self, rung: str) -> Climb:
        """What the weights of a rung have been trained on."""
        stage, _, key = rung.partition("/")
        if stage in (SCRATCH, PRETRAIN):
            return Climb(is_random=stage == SCRATCH)
        if stage == DOMAIN_TRANSFER:
            below = self.climb(self.domain_transfer[key].rung)
            return Climb(below.is_random, (*below.corpora, self.domain_transfer[key].corpus))
        below = self.climb(self.task_transfer[key].rung)
        return Climb(below.is_random, below.corpora, with_task_text=True)


class _File(Config):
    """plan.json as a whole: another key beside `plan` would be a variable of dvc.yaml, or replace one."""

    plan: Plan


def read(path: Path = PLAN) -> Plan:
    """plan.json as it is.

    Raises:
        BadParams: missing, no file, or not what `adaptbert plan` writes.
    """
    if path.is_dir():
        raise BadParams(Code.PLAN_IS_OLD, path, "a folder, not a file", f"move it away, then {WRITE}")
    if not path.is_file():
        raise BadParams(Code.PLAN_IS_OLD, path, "the file is missing", WRITE)
    if path.stat().st_size > MOST_BYTES:
        problem = f"larger than {MOST_BYTES // 10**6} MB"
        raise BadParams(Code.PLAN_IS_OLD, path, problem, f"name fewer arms, tasks or draws, then {WRITE}")
    try:
        return _File.model_validate(json.loads(path.read_text(encoding="utf-8"))).plan
    except (ValueError, RecursionError):  # the last: nested thousands deep
        raise BadParams(Code.PLAN_IS_OLD, path, "not a file of `adaptbert plan`", WRITE) from None


def expand(ladder: LadderConfig, tasks: Sequence[str], blocks: Blocks, dictionaries: Mapping[str, str]) -> Plan:
    """Every rung that an arm of a task needs, and every cell.

    Args:
        tasks: all sections of `collect_task`.
        blocks: of the sections `tokenizer` to `finetune`.
        dictionaries: start -> the file of further words for its text.
    """
    return _Tables(ladder, blocks).filled(tasks, dictionaries)


class _Tables:
    """The tables of a plan while they are filled."""

    def __init__(self, ladder: LadderConfig, blocks: Blocks) -> None:
        self._ladder, self._blocks = ladder, blocks
        self._domain: dict[str, Entry] = {}
        self._task: dict[str, Entry] = {}
        self._random: dict[str, None] = {}

    def filled(self, tasks: Sequence[str], dictionaries: Mapping[str, str]) -> Plan:
        cells = {key: cell for task in tasks for start in self._ladder.starts for key, cell in self._cells(task, start)}
        return Plan(
            code={},
            tokenizer={start: self._weights("tokenizer", start) for start in self._ladder.starts},
            tokenize={
                start: Entry(start=start, of_start=self._of("tokenize", start), dictionary=dictionaries[start])
                for start in self._ladder.starts
            },
            pretrain={start: self._weights(PRETRAIN, start) for start in self._ladder.starts},
            domain_transfer=self._domain,
            task_transfer=self._task,
            measure=self._measured(),
            finetune=cells,
        )

    def _cells(self, task: str, start: str) -> Iterator[tuple[str, Entry]]:
        for arm, config in self._ladder.arms_of(task, start).items():
            climb = config.climb
            first = self._ladder.draws + 1 if config.again is not None else 1  # an A/A arm has the draws after
            draws = range(first, first + self._ladder.draws) if climb.corpora or climb.with_task_text else (0,)
            for draw in draws:
                rung = self._rung(climb, task, start, draw)
                names = {"task": task, "arm": arm, **self._made_of("finetune", start=start, task=task, arm=arm)}
                key = "-".join([task, arm, start, *([str(draw)] if draw else [])])
                yield key, Entry.model_validate({**names, "start": start, "draw": draw, "from": rung})

    def _rung(self, climb: Climb, task: str, start: str, draw: int) -> str:
        """The folder of the rung; it and those below it are added to the tables."""
        if climb.with_task_text:
            below = self._rung(Climb(climb.is_random, climb.corpora), task, start, draw)
            key = rung_key(climb, task, start, draw)
            names = {"task": task, **self._made_of(TASK_TRANSFER, start=start, task=task)}
            self._task[key] = Entry.model_validate({**names, "start": start, "draw": draw, "from": below})
            return f"{TASK_TRANSFER}/{key}"
        if climb.corpora:
            below = self._rung(Climb(climb.is_random, climb.corpora[:-1]), task, start, draw)
            key, corpus = rung_key(climb, task, start, draw), climb.corpora[-1]
            names = {"corpus": corpus, **self._made_of(DOMAIN_TRANSFER, start=start, corpus=corpus)}
            self._domain[key] = Entry.model_validate({**names, "start": start, "draw": draw, "from": below})
            return f"{DOMAIN_TRANSFER}/{key}"
        if climb.is_random:
            self._random.setdefault(start)
        return f"{SCRATCH if climb.is_random else PRETRAIN}/{start}"

    def _measured(self) -> dict[str, Entry]:
        """Every rung that an arm needs, and every start.

        Starts, corpora and tasks have different names, so the keys of two stages are never equal.
        """
        rungs = [(f"{NONE}-{start}", f"{SCRATCH}/{start}", start, 0) for start in self._random]
        rungs += [(start, f"{PRETRAIN}/{start}", start, 0) for start in self._ladder.starts]
        rungs += [(key, f"{DOMAIN_TRANSFER}/{key}", rung.start, rung.draw) for key, rung in self._domain.items()]
        rungs += [(key, f"{TASK_TRANSFER}/{key}", rung.start, rung.draw) for key, rung in self._task.items()]
        return {
            key: Entry.model_validate({"start": start, "draw": draw, "from": rung}) for key, rung, start, draw in rungs
        }

    def _weights(self, stage: str, start: str) -> Entry:
        folder = f"{FOLDERS}{start}"
        init = folder if self._ladder.starts[start].get("init") == folder else f"{FOLDERS}README.md"
        return Entry(start=start, of_start=self._of(stage, start), init=init)

    def _made_of(self, stage: str, **names: str) -> dict[str, str]:
        return {f"of_{kind}": self._of(stage, name) for kind, name in names.items()}

    def _of(self, stage: str, name: str) -> str:
        return name if name in self._blocks.get(stage, ()) else ALL


def rung_key(climb: Climb, task: str, start: str, draw: int) -> str:
    """Of a rung above general pre-training: task (of task transfer), corpora, start and draw.

    `none` stands before the corpora where the weights began at random.
    """
    path = [*([task] if climb.with_task_text else []), *([NONE] if climb.is_random else []), *climb.corpora]
    return "-".join([*path, start, str(draw)])
