"""`adaptbert new`: a project of own files, in this or a new one, that `adaptbert check` lets pass, or nothing."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest
from safetensors.torch import load_file, save_file
from typer.testing import Result

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.config.recipe import Recipe
from adaptbert.planning import price
from adaptbert.planning.price import Budgets, Speeds
from adaptbert.planning.workload import Amounts
from adaptbert.project import new_project, own_data, template
from tests.project.test_add_task import state
from tests.support import tiny
from tests.support.checkpoint_edits import edit
from tests.support.commands import run
from tests.support.encoders import CASES
from tests.support.hub_cache import in_cache
from tests.support.own_project import WORDS
from tests.support.project import dvc

PARAMS = Path("params.yaml")
ZH = ["房间很干净。", "等了一个小时。", "再也不来了！", "适合安静地工作。", "服务员很热情。"]


def texts(words: list[str], count: int) -> list[str]:
    return [f"{words[number % 5]} {number}" for number in range(count)]


def as_lines(column: str, values: list[str]) -> str:
    return "".join(json.dumps({"id": number, column: value}) + "\n" for number, value in enumerate(values))


def tokens(begin: int, count: int) -> str:
    """Sentences of CoNLL."""
    return "".join(f"gene{number} B-GENE\nwas O\nfound O\n\n" for number in range(begin, begin + count))


@pytest.fixture
def files(project: Path) -> Path:
    """A folder beside the project: the files that a user may come with."""
    folder = project.parent / "files"
    folder.mkdir()
    (folder / "posts.jsonl").write_text(as_lines("content", texts(ZH, 60)))
    (folder / "news.txt").write_text("\n".join(texts(ZH[::-1], 200)[100:]))
    with (folder / "mood.csv").open("w", newline="") as file:
        labelled = ((text, ["happy", "sad"][number % 2]) for number, text in enumerate(texts(ZH, 400)[300:]))
        csv.writer(file).writerows([("content", "emotion"), *labelled])
    (folder / "articles.txt").write_text("\n".join(texts(WORDS, 60)))
    (folder / "wiki.jsonl").write_text(as_lines("text", texts(WORDS[::-1], 200)[100:]))
    for split, begin, count in (("train", 0, 60), ("dev", 100, 20), ("test", 200, 20)):
        (folder / f"genes.{split}.txt").write_text(tokens(begin, count))
    return folder


MEASURED = price.measured


@pytest.fixture(autouse=True)
def _known_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a machine that does nothing else; where it is measured, for a moment."""

    def known(recipe: Recipe, *_: object) -> Speeds:
        configs = {base: price.model_config(recipe, base) for base in recipe.bases}
        return Speeds(configs, defaultdict(lambda: 1000.0), start=5.0, jobs=2)

    monkeypatch.setattr(price, "measured", known)
    monkeypatch.setattr(price, "FEWER_SECONDS", 0.02)
    monkeypatch.setattr(price, "_spent", lambda: (time.perf_counter(), 0.0, 0.0))


@pytest.fixture
def empty_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of DVC that are empty: the real ones take it a second."""

    def record(files: list[Path]) -> None:
        for file in files:
            Path(f"{file}.dvc").touch()

    monkeypatch.setattr(own_data, "record", record)


def new(files: Path, words: str, directory: str = ".") -> Result:
    """The command; a word with a dot or a slash before it is one of the files."""
    named = (str(files / word.lstrip("/")) if "." in word or word[0] == "/" else word for word in words.split())
    return run("new", directory, *named)


CSV = "--text posts.jsonl --general news.txt --train mood.csv"
TEXTS = "--text articles.txt --general wiki.jsonl"
CONLL = f"--train genes.train.txt --dev genes.dev.txt --test genes.test.txt {TEXTS}"
OF_CSV = """\
# Written by `adaptbert new`. What is left out has a default: docs/parameters.md.

bases:                         # what all weights begin with: random ones of this size
  small: {layers: 4, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512}
corpora:                       # unlabelled text
  general:
    path: data/own/news.txt
  domain:
    path: data/own/posts.jsonl
    columns: {text: content}
tasks:                         # labelled sets; a further one: adaptbert add-task --train FILE
  mood:
    type: text-classification
    columns: {text: content, label: emotion}
    train: data/own/mood.csv
    dev: data/own/mood.csv
    test: data/own/mood.csv
    split: {dev: 0.1, test: 0.2}

tokenize: {words: {segmenter: rjieba}}    # Chinese words, for masking by words
pretrain: {tokens: 6_000_000, masking: {unit: word}}
domain_transfer: {masking: {unit: word}}    # one pass over the text of the domain
task_transfer: {masking: {unit: word}}    # 50 passes over the text of the task
finetune: {}
compare: {}
"""


def is_ready(short: str = "") -> None:
    """The plan is that of params.yaml, and `check` has nothing to say.

    Args:
        short: a base with fewer positions than the default takes, which a published one has.
    """
    plan_file.check(recipes.read())
    checked = run("check")
    others = [
        line for line in checked.output.splitlines() if "notice" in line and not re.search(r" steps? (for|of) ", line)
    ]
    errors = [
        line for line in checked.output.splitlines() if "AB-" in line and f"length 128, and {short} has" not in line
    ]
    assert (checked.exit_code, others, errors) == (78 if short else 0, [], []), checked.output


def test_chinese_posts_and_a_table(files: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "measured", MEASURED)
    done = new(files, CSV)
    assert done.exit_code == 0, done.output
    assert PARAMS.read_text() == OF_CSV
    lines = done.output.splitlines()
    assert lines[0].startswith(
        "base: random weights, small, which know nothing before `pretrain`, and may stay below a"
    )
    assert [line for line in lines if line.startswith(("capital", "accents", "domain", "language", "labels"))] == [
        f"domain: {files}/posts.jsonl (jsonl)",
        "language: Chinese; words are found by rjieba and masked whole",
        "labels of 100 rows: classes (2): happy (50), sad (50)",
        "capital letters: become small ones (the tokenizer lower-cases)",
        "accents and other marks: are stripped (é becomes e)",
    ]
    names = ("mood.csv", "news.txt", "posts.jsonl")
    recorded, _, arms, written, shown, takes, run_it, others = lines[-8:]
    assert (recorded, arms, written) == (
        f"recorded by DVC: {', '.join(f'data/own/{name}' for name in names)}",
        "arms: general, general_long, domain, task, domain_task; what each is: docs/how-to/arms.md",
        "params.yaml and plan.json are written",
    )
    assert re.fullmatch(
        r"(about [\d.]+ (minutes|hours)|less .*) by `make recipe`, where nothing else runs; --minutes M makes it .*",
        takes,
    )
    assert shown.startswith(
        "mood, first question: a study of 2 replicates, 3 seeds and 20 test rows finds a gain four times in five "
    )
    assert run_it == f"now run: make recipe PYTHON={sys.executable}"
    assert others == f"other commands there: {Path(sys.executable).with_name('adaptbert')} plan, check, predict"
    assert [(own_data.OWN / name).read_bytes() for name in names] == [(files / name).read_bytes() for name in names]
    is_ready()


@pytest.mark.usefixtures("empty_records")
def test_english_terms_from_a_checkpoint_in_a_folder(files: Path, project: Path) -> None:
    tiny.public(files / "tiny-bert")
    done = new(files, f"{CONLL} --base /tiny-bert")
    assert done.exit_code == 0, done.output
    document = params.read(PARAMS)
    assert (document["base"], document["pretrain"], "tokenize" in document) == ("models/init/tiny_bert", {}, False)
    batch = {"global_batch_tokens": 1024}
    assert [document[step] for step in ("domain_transfer", "task_transfer", "finetune")] == [
        {"learning_rate": 1e-3, **batch},  # for a width of 32, a twenty-fourth of 768; of little text
        {"learning_rate": 2e-3, **batch},
        {"learning_rate": 1e-3},
    ]
    steps = "domain_transfer and task_transfer and finetune"
    assert (
        f"# learning_rate of {steps}: fitted to kind and width, 32 (the default: a BERT of 768)" in PARAMS.read_text()
    )
    assert {key: document["tasks"]["genes"][key] for key in ("type", "tag_scheme", "format")} == {
        "type": "token-classification",
        "tag_scheme": "bio",
        "format": "conll",
    }
    assert "\nmodels/init/tiny_bert:\nBERT with " in done.output
    assert "language: little or no Chinese in it; tokens are masked one by one\n" in done.output
    assert "\ncapital letters: become small ones (the tokenizer lower-cases)\n" in done.output
    is_ready("tiny_bert")
    same = new(files, f"{CONLL} --base /tiny-bert")
    assert "\nparams.yaml and plan.json are written over those of the last `adaptbert new`\n" in same.output
    (files / "tiny-bert/vocab.txt").touch()
    assert new(files, f"{CONLL} --base /tiny-bert").exit_code == 65, "changed since"
    (files / "tiny-bert/model.safetensors").rename(files / "weights")
    (files / "tiny-bert/model.safetensors").touch()
    again = new(files, f"{CONLL} --base /tiny-bert")
    remedy = "is there already, and is not replaced\n  take it, in `new` by --base models/init/tiny_bert; or"
    assert (again.exit_code, remedy in again.output) == (65, True), again.output
    PARAMS.write_text(edited := f"{PARAMS.read_text()}# mine\n")
    edit = new(files, f"{CONLL} --base models/init/tiny_bert")
    assert (edit.exit_code, PARAMS.read_text()) == (78, edited)
    assert "holds changes that are neither committed nor a preset\n  commit it" in edit.output
    assert new(files, f"{CONLL} --base models/init/tiny_bert --force").exit_code == 0
    (files / "weights").rename(files / "tiny-bert/model.safetensors")
    in_cache("tiny", files / "tiny-bert")
    assert new(files, f"{CONLL} --base acme/tiny").exit_code == 0
    assert PARAMS.read_text().splitlines()[2].startswith("base: acme/tiny    # of its branch main, which may move; ")


@pytest.mark.usefixtures("empty_records")
def test_marks_and_the_kind_of_a_base(files: Path, project: Path) -> None:
    """Of Japanese with random weights marks are kept; a public base that strips them is said to, before training."""
    (files / "news.txt").write_text("".join(f"きょうはしとばしを見ました{n}\n" for n in range(60)))
    (files / "ja.csv").write_text(
        "text,label\n" + "".join(f"きのう{'はが'[n % 2]}きを見た人{n},{n % 2}\n" for n in range(60))
    )
    kept = new(files, "--general news.txt --train ja.csv --columns text=text --columns label=label")
    assert "\naccents and other marks: are kept\n" in kept.output, kept.output
    assert "stripping changes" not in kept.output
    PARAMS.unlink()
    tiny.public(files / "hub")
    edit(files / "hub", "config.json", is_decoder=True)
    in_cache("tiny", files / "hub")
    words = "--train ja.csv --columns text=text --columns label=label --base acme/tiny"
    said = new(files, words).output
    assert said.startswith(
        "base: acme/tiny\nnotice: of config.json the architecture is kept, not what the model was used "
    )
    notice = r"notice: stripping changes \d\.\d% of the characters of these texts, most often が to か, so that words"
    assert re.search(rf"\naccents and other marks: are stripped \(é becomes e\)\n{notice}", said), said
    edit(files / "hub", "tokenizer_config.json", tokenizer_class="BertJapaneseTokenizer")
    in_cache("tiny", files / "hub")
    PARAMS.unlink()
    refused = new(files, words)
    message = "AB-129 --base acme/tiny (no folder here): text is split by code (BertJapaneseTokenizer)"
    assert (refused.exit_code, message in refused.output) == (65, True), refused.output


@pytest.mark.usefixtures("empty_records")
@pytest.mark.parametrize(("text", "first"), [("", {"task_transfer"}), (TEXTS, {"pretrain"})])
def test_a_base_without_a_head(text: str, first: set[str], files: Path, project: Path) -> None:
    """The head is trained in the first step of masked-language modelling."""
    tiny.public(files / "bare")
    weights = load_file(files / "bare/model.safetensors")
    encoder = {name: value for name, value in weights.items() if not name.startswith("cls.predictions")}
    save_file(encoder, files / "bare/model.safetensors", {"format": "pt"})
    done = new(files, f"--train mood.csv {text} --base /bare")
    assert done.exit_code == 0, done.output
    assert ("\narms: general, task; domain transfer needs --text; what each is: " in done.output) == (not text)
    document = params.read(PARAMS)
    assert {step for step, each in document.items() if "head_warmup_steps" in each} == first
    said = {line.split()[0] for line in run("plan").stdout.splitlines() if line.endswith(", 100 of them for the head")}
    assert said == first
    of_head = document["pretrain" if text else "task_transfer"]
    assert not text or of_head["global_batch_tokens"] == 1024, "a head needs no long steps"
    assert re.search(r"\nhead_warmup_steps: 100 in .* train the masked-LM head\n", done.output)
    is_ready("bare")


@pytest.mark.parametrize("target", ["my project", "研究"])
def test_a_new_folder(target: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository of git and DVC with all that a recipe needs, made from a folder that is no project. Files are named
    from where the command runs, and the prices follow from all of them."""
    monkeypatch.chdir(files.parent)
    amounts = list[Amounts]()
    monkeypatch.setattr(new_project, "Budgets", lambda *args: amounts.append(args[2]) or Budgets(*args))
    done = new(Path(os.path.relpath(files)), CSV, target)
    assert done.exit_code == 0, done.output
    assert f"now run: cd {quote(target)} && make recipe PYTHON={sys.executable}" in done.output.splitlines()
    assert {path.name for path in files.parent.iterdir()} == {"project", "files", "dvc", target}
    monkeypatch.chdir(target)
    assert PARAMS.read_text() == OF_CSV
    assert all(amounts[0].corpus(name, "small") for name in ("general", "domain"))
    tracked = subprocess.run(["git", "add", "--all", "--verbose"], capture_output=True, text=True, check=True).stdout
    assert {"add 'dvc.yaml'", "add '.dvc/config'", "add 'plan.json'", "add '.adaptbert/template.json'"} <= {
        *tracked.splitlines()
    }
    is_ready()


def test_an_empty_folder_in_which_one_stands(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one where git is already, as of an empty repository that was cloned."""
    target = files.parent / "cloned"
    subprocess.run(["git", "init", "-q", str(target)], check=True)
    subprocess.run(["git", "remote", "add", "origin", "elsewhere"], cwd=target, check=True)
    monkeypatch.chdir(target)
    done = new(files, CSV)
    assert done.exit_code == 0, done.output
    assert f"now run: make recipe PYTHON={sys.executable}" in done.output.splitlines()
    remote = subprocess.run(["git", "remote"], capture_output=True, text=True, check=True).stdout
    assert remote.split() == ["origin"]
    is_ready()


def test_its_own_environment_needs_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert template.interpreter(tmp_path) == ""
    assert template.interpreter(tmp_path / "other") == f" PYTHON={sys.executable}"
    monkeypatch.setattr(sys, "executable", "/my home/bin/python")
    assert template.interpreter(tmp_path / "other") == "", "make takes no blank"


def test_another_set_after_the_first(files: Path, project: Path) -> None:
    """What the first left is named, with the command that removes it: nothing of it stays, nor in git's index."""
    assert new(files, CSV).exit_code == 0
    (files / "mood.csv").rename(files / "情感.csv")
    done = new(files, CSV.replace("mood", "情感"))
    remedy = "dvc remove --outs data/own/mood.csv.dvc"
    line = f"of the last `adaptbert new` there is still data/own/mood.csv; to remove it: {remedy}"
    assert (done.exit_code, line in done.output.splitlines()) == (0, True), done.output
    hint = "(the name of its folder: the file gives none of Latin letters; --name gives it another)"
    assert f"\ntask files {hint}\n" in done.output
    assert "there is still" not in new(files, f"{CSV.replace('mood', '情感')} --name mood").output
    assert dvc(*remedy.split()[1:]).returncode == 0
    assert not [*own_data.OWN.glob("mood*")]


def test_it_goes_where_the_rest_fails(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails after the folder is made: a file in data/own would be two."""
    monkeypatch.chdir(files.parent)
    (files / "other").mkdir()
    (files / "other/mood.csv").write_text("\n".join(["content", *texts(ZH[::-1], 100)]))
    for target, left in (("mine", None), ("there", [])):
        Path("there").mkdir(exist_ok=True)
        done = new(files, "--text posts.jsonl --train mood.csv --general other/mood.csv", target)
        assert (done.exit_code, "AB-197 data/own/mood.csv" in done.output) == (65, True), done.output
        assert ([*Path(target).iterdir()] if Path(target).exists() else None) == left


def one_row(files: Path) -> None:
    (files / "mood.csv").write_text("content,emotion\na b,x\n")


@pytest.mark.parametrize(
    ("words", "spoil", "code", "message"),
    [
        (f"{CSV}x", None, 65, "AB-050 {}/mood.csvx: no such file\n  write where it is"),
        (CSV.replace("news.txt", "news.txt.gz"), None, 65, "AB-050 {}/news.txt.gz: no such file\n"),
        ("--text posts.jsonl --train mood.csv", None, 78, "AB-099 --general: missing, and random weights are trained "),
        (f"{CSV} --base /none", None, 65, "AB-128 --base {}/none: no such folder\n  name a folder"),
        (f"{CSV} --base acme/none", None, 65, "AB-128 --base acme/none (no folder here): cannot be loaded from the h"),
        (f"{CSV} --text-column body", None, 78, "AB-099 --text-column: {}/posts.jsonl has no column 'body'\n  it has"),
        (f"{CSV} --name domain", None, 78, "AB-112 params.yaml: corpora.domain: the name is taken\n  choose another"),
        (f"{CSV} --tag-scheme bio", None, 65, "AB-216 {}/mood.csv: which columns are tokens and tags? There are con"),
        (CSV, one_row, 65, "AB-019 params.yaml: tasks: 1 rows cannot be split"),
    ],
)
def test_nothing_is_written_where_something_does_not_fit(
    words: str, spoil: Callable[[Path], None] | None, code: int, message: str, files: Path, project: Path
) -> None:
    """What may be unclear in a file: tests/project/test_task_inference.py."""
    if spoil is not None:
        spoil(files)
    before = state(project)
    done = new(files, words)
    assert (done.exit_code, message.format(files) in done.output) == (code, True), done.output
    assert state(project) == before


def test_all_that_is_wrong_comes_at_once(files: Path, project: Path) -> None:
    done = new(files, "--text no.jsonl --train mood.csv --columns text=body --base ./nowhere")
    lines = done.output.removeprefix("error: ").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("AB-")] == ["AB-050", "AB-128", "AB-099"]
    assert "hf download NAME --local-dir FOLDER; or leave out --base and give --general" in done.output


@pytest.mark.usefixtures("empty_records")
@pytest.mark.parametrize(
    ("minutes", "layers", "pretrained", "labels", "is_short"),
    [(60, 4, 1_000_000, None, True), (2, 2, 1_000_000, 800, False)],
)
def test_minutes(
    minutes: int,
    layers: int,
    pretrained: int,
    labels: int | None,
    is_short: bool,
    files: Path,
) -> None:
    """Tokens shrink first, then the base, arms and labels; never below what teaches something, which is said."""
    mood = "".join(f"{ZH[n % 5]} {n},{'ab'[n % 2]}\n" for n in range(5000))
    (files / "mood.csv").write_text(f"content,emotion\n{mood}")
    done = new(files, f"{CSV} --minutes {minutes}")
    document = params.read(PARAMS)
    assert (document["pretrain"]["tokens"], document["finetune"].get("labels")) == (pretrained, labels), done.output
    assert "seeds" not in document["finetune"], "there is no time for more"
    assert "\nmood, first question: a study of 2 replicates, 3 seeds and 1,000 test rows finds a gain " in done.output
    assert document["bases"]["small"]["layers"] == layers
    assert f"for this time: pretrain {pretrained:,} tokens" in done.output
    assert f"a base of {layers} layers of" in done.output
    assert "now run: make recipe" in done.output
    assert document.get("arms") == (None if is_short else ["general", "domain"])
    arms = "general, general_long, domain, task, domain_task" if is_short else "general, domain alone, for --minutes 2"
    assert f"\narms: {arms}; what each is: docs/how-to/arms.md\n" in done.output
    assert ("notice: --minutes 2 leaves out the control `general_long`, so a gain" not in done.output) == is_short
    least = "notice: it takes more than 2 minutes, as shorter trainings learn nothing; the least for these"
    assert (least not in done.output) == is_short
    assert ("\ntask_transfer: {masking: {unit: word}}    # no arm has this step\n" in PARAMS.read_text()) != is_short
    assert "steps" not in run("plan").output.partition("plan.json")[2]


@pytest.mark.usefixtures("empty_records")
def test_minutes_go_into_seeds_before_longer_training(files: Path) -> None:
    """As many as show five points on half of the sets; steps are shorter than they are where nobody limits the time."""
    mood = "".join(f"{ZH[n % 5]} {n},{'ab'[n % 2]}\n" for n in range(5000))
    (files / "mood.csv").write_text(f"content,emotion\n{mood}")
    done = new(files, f"{CSV} --minutes 150")
    document = params.read(PARAMS)
    seeds, tokens = document["finetune"]["seeds"], document["pretrain"]["tokens"]
    assert seeds > 3
    assert tokens < 6_000_000
    (shown,) = re.findall(
        rf"\nmood, first .* of 2 replicates, {seeds} seeds and 1,000 .* least ([\d.]+) points .* ([\d.]+) points where",
        done.output,
    )
    assert float(shown[0]) < 5 < float(shown[1])
    assert "minutes by `make recipe`" in done.output or "hours by `make recipe`" in done.output
    assert "notice: it takes more than" not in done.output


def test_where_a_project_may_be(files: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = project.parent / "mine"
    refused = {
        str(files): f"AB-197 {files}: is there already, and not empty\n  name a new folder; in a project that is there",
        "mine": f"AB-184 mine: lies in the project {project}\n  name it beside: {mine}; or, in that project: ",
        "../{mine}": f"AB-198 {project.parent}/{{mine}}: the path has a brace, and DVC cannot work there\n",
    }
    for directory, message in refused.items():
        done = new(files, CSV, directory)
        assert (done.exit_code in (65, 78), message in done.output) == (True, True), done.output
    monkeypatch.setattr(shutil, "which", lambda _: None)
    done = new(files, CSV, "../mine")
    assert (done.exit_code, "AB-154 git: not installed, and a project is a git re" in done.output) == (78, True)
    assert not mine.exists()


@pytest.mark.usefixtures("empty_records")
def test_a_base_of_another_kind(files: Path) -> None:
    """It brings its own masking, dropout and rates; words of Chinese are masked whole besides."""
    next(case for case in CASES if case.kind == "modernbert").save(files / "modern")
    done = new(files, "--text posts.jsonl --train mood.csv --base /modern")
    assert done.exit_code == 0, done.output
    document = params.read(PARAMS)
    assert document["base"] == "models/init/modern"
    masking = {"probability": 0.3, "unit": "word"}
    assert [document[step]["masking"] for step in ("pretrain", "domain_transfer", "task_transfer")] == [masking] * 3
    assert document["finetune"] == {"learning_rate": 1e-3, "dropout": 0.0}
    lines, steps = PARAMS.read_text().splitlines(), "pretrain and domain_transfer and task_transfer"
    assert f"# masking of {steps}: fitted to this kind of model" in lines
    assert f"# dropout of {steps} and finetune: config.json of the model has none" in lines
    assert "\nMODERNBERT with 3 layers of 32, " in done.output
    is_ready("modern")
