"""The stages `tokenizer` and `tokenize`: everything is read, held-out text is not trained on, and bytes repeat."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Extension, Segmentation, Tokenize, Vocabulary
from adaptbert.core.files import read_json
from adaptbert.errors import BadData, UserError
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import is_heldout
from adaptbert.text.tokenizer import Tokenizer
from stages.tokenize import tokenize
from stages.tokenizer import tokenizer
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT
from tests.support.messages import messages_in

TRAIN = {
    "corpora": ["general", "domain"],
    "vocabulary_size": 160,
    "lowercase": True,
    "min_frequency": 1,
}
RANDOM = Base(layers=1, hidden_size=32, heads=2, intermediate_size=64, max_positions=64)
FOLDER = Base(checkpoint="models/init/small")
WORDS = Segmentation(segmenter="none", dictionary=str(ROOT / "data/sources/words.txt"))
EXTEND: dict[str, Any] = {"corpora": ["domain"], "num_new_tokens": 10, "min_frequency": 5}
CUT = Tokenize(max_length=24, heldout_fraction=0.1, words=WORDS)


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """data/validated, as validation writes it; with more rare characters than the vocabulary has room for."""
    folder = tmp_path_factory.mktemp("validated")
    (folder / "corpora").mkdir()
    rare = "".join(chr(0x4E00 + number) for number in range(200))
    for kind in tiny.WORDS:
        rows = [*tiny.rows(kind, 300), (f"{kind}-rare", f"the {rare} {' '.join(tiny.sentences(kind, 30))}")]
        table = pa.Table.from_pylist([{"id": text_id, "text": text} for text_id, text in rows])
        pq.write_table(table, folder / f"corpora/{kind}.parquet")
    for task, shape in (("section", "single_sentence"), ("mention", "sequence_labelling")):
        tiny_tasks.task(folder / "tasks" / task, shape)
    return folder


def make_tokenizer(validated: Path, root: Path, values: Mapping[str, Any], weights: Base = RANDOM) -> Tokenizer:
    """What the stage `tokenizer` leaves."""
    root.mkdir(parents=True, exist_ok=True)
    with chdir(root):  # params.yaml names models/init/small
        tokenizer(
            Vocabulary(**values), base="small", weights=weights, corpora=validated / "corpora", run=tiny.no_record(),
            out=root / "tokenizer", metrics=root / "metrics/tokenizer.json",
        )  # fmt: skip
    return Tokenizer.load(root / "tokenizer")


def run(validated: Path, root: Path, params: Tokenize = CUT, weights: Base = RANDOM, **train: Any) -> dict[str, Any]:
    """Run both stages; returns the metrics of `tokenize`."""
    make_tokenizer(validated, root, TRAIN | train, weights)
    tokenize(
        params, base="small", weights=weights, validated=validated, tokenizer=root / "tokenizer", run=tiny.no_record(),
        out=root / "tokenized", metrics=root / "metrics/tokenize.json",
    )  # fmt: skip
    return read_json(root / "metrics/tokenize.json")


@pytest.fixture(scope="module")
def outputs(validated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("outputs")
    run(validated, root)
    return root


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tokenize` switches the threads of the tokenizer on, for its own process."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def test_every_set_is_there(outputs: Path) -> None:
    """And held-out texts are not trained on."""
    sets = {path.parent.relative_to(outputs / "tokenized").as_posix() for path in outputs.rglob("corpus.json")}
    assert sets == {
        *(f"corpora/{kind}" for kind in tiny.WORDS),
        *(f"tasks/{task}" for task in ("section", "mention")),
        *(f"heldout/{name}" for name in (*tiny.WORDS, "section", "mention")),
    }
    facts = read_json(outputs / "metrics/tokenize.json")
    assert set(facts) == sets
    assert facts == {name: read_json(outputs / "tokenized" / name / "corpus.json") for name in sets}
    assert {each["tokenizer"] for each in facts.values()} == {Tokenizer.load(outputs / "tokenizer").fingerprint}
    assert read_json(outputs / "metrics/tokenizer.json")["fingerprint"] == facts["corpora/general"]["tokenizer"]
    for kind in tiny.WORDS:
        held = sum(is_heldout(text_id, 0.1) for text_id in [*(f"{kind}-0-{n}" for n in range(300)), f"{kind}-rare"])
        assert (facts[f"corpora/{kind}"]["texts"], facts[f"heldout/{kind}"]["texts"]) == (301 - held, held)
        assert held > 5


def test_the_segmenter_of_the_parameters_finds_the_words(validated: Path, outputs: Path, tmp_path: Path) -> None:
    """And `extend` is for checkpoints: random weights have words of all its corpora already."""
    words = Segmentation(segmenter="rjieba", dictionary=WORDS.dictionary)
    facts = run(validated, tmp_path, CUT.model_copy(update={"words": words}), extend=Extension(**EXTEND))
    before = read_json(outputs / "metrics/tokenize.json")
    assert {each["segmentation"]["segmenter"][:7] for each in facts.values()} == {"rjieba "}
    assert {each["segmentation"]["segmenter"] for each in before.values()} == {"none"}
    assert [each["digest"] for each in facts.values()] == [each["digest"] for each in before.values()]
    word_starts = [root / "tokenized/corpora/general/word_starts.bin" for root in (tmp_path, outputs)]
    segmented, plain = (path.read_bytes().count(1) for path in word_starts)
    assert segmented < plain, "the rare characters of the fixture make words"


def test_a_task_is_trained_on_its_train_split_and_measured_on_its_dev_split(outputs: Path, validated: Path) -> None:
    vocabulary = Tokenizer.load(outputs / "tokenizer")
    for kind, split in (("tasks", "train"), ("heldout", "dev")):
        corpus = TokenizedCorpus.load(outputs / f"tokenized/{kind}/mention")
        rows = pq.read_table(validated / f"tasks/mention/{split}.parquet").to_pylist()
        tokens = sum(len(vocabulary.encode([" ".join(row["tokens"])])[0].ids) for row in rows)
        assert corpus.tokens - 2 * len(corpus.lengths) == tokens
        assert int(corpus.lengths.max()) <= 24


SCRIPT = """
import json, sys
from pathlib import Path
from tests.stages.test_tokenize import run
run(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_equal_bytes_in_another_process(validated: Path, outputs: Path, tmp_path: Path) -> None:
    """DVC compares bytes: with another hash seed and another number of threads they must be the same. And it is said
    how much text there is to learn from: a large one takes minutes."""
    env = os.environ | {"PYTHONHASHSEED": "2", "RAYON_NUM_THREADS": "3", "TOKENIZERS_PARALLELISM": "true"}
    command = [sys.executable, "-c", SCRIPT, str(validated), str(tmp_path)]
    env |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, check=True, capture_output=True, encoding="utf-8", timeout=120)
    read = [pq.read_table(validated / f"corpora/{kind}.parquet") for kind in ("general", "domain")]
    size = sum(len(row["text"].encode()) for table in read for row in table.to_pylist()) / 1e6
    assert f"  at most 160 subword tokens are learned from {size:.1f} MB of text, about a second" in done.stdout
    actual, expected = tiny.folder_bytes(tmp_path), tiny.folder_bytes(outputs)
    assert actual.keys() == expected.keys()
    assert [name for name in actual if actual[name] != expected[name]] == []


def test_a_new_corpus_changes_no_byte_of_the_others(
    validated: Path, outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where `tokenizer.corpora` names the others, as docs/how-to/arms.md says. Unknown tokens are a notice, one a text,
    and none of a text of which the vocabulary knows nearly all."""
    shutil.copytree(validated, tmp_path / "validated")
    odd = [
        {"id": f"odd-{number}", "text": f"{text} ⴰⵎⴰⵣⵉⵖ"} for number, text in enumerate(tiny.sentences("domain", 90))
    ]
    pq.write_table(pa.Table.from_pylist(odd), tmp_path / "validated/corpora/more.parquet")
    run(tmp_path / "validated", tmp_path / "out")
    notices = [line.split()[1] for line in capsys.readouterr().out.splitlines() if "notice: " in line]
    assert "more:" in notices
    assert len({*notices}) == len(notices)
    assert "section:" not in notices
    before, after = (tiny.folder_bytes(root, "tokenizer", "tokenized") for root in (outputs, tmp_path / "out"))
    assert before.items() <= after.items()
    assert {name.partition("/more/")[0] for name in after.keys() - before.keys()} == {
        "tokenized/corpora", "tokenized/heldout",
    }  # fmt: skip


def test_the_tokenizer_of_a_checkpoint_as_it_is_and_extended(validated: Path, tmp_path: Path) -> None:
    """What random weights need may stand in the file as well: another base has those."""
    general = tiny.sentences("general", 100)
    old = Tokenizer.train(lambda: general, Vocabulary(vocabulary_size=100, lowercase=True, min_frequency=1))
    old.save(tmp_path / "models/init/small")
    assert make_tokenizer(validated, tmp_path, TRAIN, FOLDER).fingerprint == old.fingerprint
    new = make_tokenizer(validated, tmp_path, {"extend": EXTEND}, FOLDER)
    metrics = read_json(tmp_path / "metrics/tokenizer.json")
    assert new.extends(old)
    assert metrics["new_tokens"] == new.size - old.size == 10
    texts = [row["text"] for row in pq.read_table(validated / "corpora/domain.parquet").to_pylist()]
    tokens = sum(len(encoding.ids) for encoding in new.encode(texts))
    assert metrics["tokens_per_character_after"] == pytest.approx(tokens / sum(map(len, texts)))


@pytest.mark.parametrize(
    ("weights", "remedy"), [(RANDOM, "put it into a corpus"), (FOLDER, "`tokenizer.extend: {corpora: ")]
)
def test_nothing_is_left_where_texts_do_not_fit(validated: Path, tmp_path: Path, weights: Base, remedy: str) -> None:
    """Two sets have another script; both are reported, each once, and the others are not left behind."""
    folder = tmp_path / "validated"
    shutil.copytree(validated, folder)
    strange = [{"id": str(number), "text": "ⴰⵎⴰⵣⵉⵖ ⵜⴰⵎⴰⵣⵉⵖⵜ", "label": "code"} for number in range(200)]
    pq.write_table(pa.Table.from_pylist(strange), folder / "tasks/section/train.parquet")
    pq.write_table(pa.Table.from_pylist(strange), folder / "corpora/posts.parquet")
    tiny.tokenizer().save(tmp_path / "out/models/init/small")
    with pytest.raises(UserError) as refused:
        run(folder, tmp_path / "out", weights=weights)
    lines = messages_in(str(refused.value))
    assert [line.partition(",")[0] for line in lines] == [
        f"AB-129 {text}: 100.0% of its tokens are unknown" for text in ("posts", "section")
    ]
    assert all(remedy in line for line in lines)
    assert not (tmp_path / "out/tokenized").exists()
    assert not list((tmp_path / "out").rglob("*.part"))


def test_a_corpus_too_small_to_hold_anything_out(validated: Path, tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-018 heldout/\w+: no text\n.* raise tokenize.heldout"):
        run(validated, tmp_path, CUT.model_copy(update={"heldout_fraction": 1e-6}))
