"""Every way in which `adaptbert predict` refuses: one line, an exit code, and nothing written."""

import gzip
from functools import partial
from pathlib import Path

import pytest
from typer.testing import Result

from adaptbert.errors import BadData
from adaptbert.prediction.predictor import Predictor
from tests.support.cells import Project
from tests.support.messages import messages_in
from tests.support.predicting import ANSWER, CLASS, json_lines, model, piped, run


def refused(done: Result, code: int, exit_code: int, out: Path) -> str:
    assert done.exit_code == exit_code, done.output
    assert "Traceback" not in done.stderr
    (line,) = [line for line in messages_in(done.stderr) if line.startswith("error: ")]
    assert f"AB-{code:03d} " in line
    assert not out.exists()
    assert list(out.parent.glob(".*part")) == []
    return line


def test_what_is_no_fine_tuned_checkpoint_and_no_input(project: Project, tmp_path: Path) -> None:
    source, out = json_lines(tmp_path / "in.jsonl", [{"text": "a"}]), tmp_path / "out.jsonl"
    refuse = partial(refused, exit_code=65, out=out)
    refuse(run(tmp_path / "nowhere", source, "-o", out), 128)
    refuse(run(project.root / "models/pretrain", source, "-o", out), 181)
    line = refuse(run(model(project, CLASS), tmp_path, "-o", out), 50)
    assert line == f"error: AB-050 {tmp_path}: is a folder\n  name one file of it"
    weights = model(project, CLASS) / "model.safetensors"
    line = refuse(run(weights, source, "-o", out), 128)
    assert (
        line == f"error: AB-128 {weights}: is a file, and a checkpoint is a folder\n  name its folder: {weights.parent}"
    )


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("in.jsonl", b"", 17),
        ("in.csv", b"text\n", None),
        ("in.csv", b"content\na\n", 56),
        ("in.parquet", b"PAR1", 38),
        ("in.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 9, mtime=0)[:-9], 38),
        ("in.doc", b"text", 50),
    ],
)
def test_a_file_that_cannot_be_read(
    project: Project, tmp_path: Path, name: str, content: bytes, code: int | None
) -> None:
    source, out = tmp_path / name, tmp_path / "out.jsonl"
    source.write_bytes(content)
    done = run(model(project, CLASS), source, "-o", out)
    if code is None:
        assert (done.exit_code, out.read_bytes()) == (0, b""), "a header and no rows: a table of none"
    else:
        assert str(source) in refused(done, code, 65, out)


@pytest.mark.parametrize(
    ("header", "options", "remedy"),
    [
        ("id,content", (), "found id, content\n  say which column it is: --columns text=content"),
        ("id,my posts", (), "found id, my posts\n  say which column it is: --columns 'text=my posts'"),
        ("Text,b", (), "found Text, b (did you mean 'Text'?)\n  say which column it is: --columns text=Text"),
        ("a,b", (), "found a, b\n  say which column it is: --columns text=NAME"),
        (
            "a,b",
            ("--columns", "text=c"),
            "column 'c' missing; found a, b\n  say which column it is: --columns text=NAME",
        ),
        ("text,b", ("--columns", "id=post"), "found text, b\n  say which column it is: --columns id=NAME"),
    ],
)
def test_the_remedy_for_a_missing_column_can_be_typed(
    project: Project, tmp_path: Path, header: str, options: tuple[str, ...], remedy: str
) -> None:
    """There is no `columns` of params.yaml here."""
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text(f"{header}\n" + ",".join("x" * (header.count(",") + 1)) + "\n")
    done = run(model(project, CLASS), source, "-o", out, *options)
    line = refused(done, 56, 65, out)
    assert line.endswith(remedy), line


def test_rows_in_another_encoding_are_reported_with_the_option(project: Project, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"plain\n" + "好好\n".encode("gbk") * 2)
    done = run(model(project, CLASS), tmp_path / "in.txt", "-o", tmp_path / "out.jsonl")
    message = "2 rows could not be decoded; if the file is in another encoding, name it, e.g. --encoding gb18030"
    assert (done.exit_code, f"{tmp_path}/in.txt: {message}" in done.stderr) == (65, True), done.stderr
    done = run(model(project, CLASS), tmp_path / "in.txt", "-o", tmp_path / "out.jsonl", "--encoding", "gb18030")
    assert (done.exit_code, "decoded" in done.stderr) == (0, False), done.stderr


def test_a_column_that_is_missing_in_python(project: Project) -> None:
    predictor = Predictor.load(model(project, CLASS))
    with pytest.raises(BadData, match=r"AB-056 rows\[0\]: .*; found content\n  give every row a value under 'text'$"):
        list(predictor.answers([{"content": "a"}]))


def test_no_input(project: Project, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    refused(run(model(project, CLASS), tmp_path / "in.jsonl", "-o", out), 50, 65, out)
    done = piped(model(project, CLASS), "-", "--format", "txt")
    assert (done.returncode, done.stdout) == (65, b"")
    assert b"AB-017 stdin: nothing came in" in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--columns", "text"], 111),
        (["--columns", "label=x"], 111),
        (["--format", "label"], 111),
        (["--format", "squad"], 111),
        (["--encoding", "utf-99"], 111),
        (["--precision", "16"], 111),
        (["--bom"], 111),
        (["--top", "0"], 109),
        (["--batch-tokens", "0"], 109),
    ],
)
def test_options_that_do_not_fit(project: Project, tmp_path: Path, options: list[str], code: int) -> None:
    out = tmp_path / "out.jsonl"
    source = json_lines(tmp_path / "in.jsonl", [{"text": "a"}])
    refused(run(model(project, CLASS), source, "-o", out, *options), code, 78, out)


def test_outputs_that_cannot_be(project: Project, tmp_path: Path) -> None:
    source = json_lines(tmp_path / "in.jsonl", [{"text": "a"}])
    (tmp_path / "folder.csv").mkdir()
    for out in (source, tmp_path / "folder.csv", tmp_path / "out.xls"):
        assert run(model(project, CLASS), source, "-o", out).exit_code == 78
    assert source.exists()
    assert (tmp_path / "folder.csv").is_dir()
    source.rename(tmp_path / "file")
    done = run(model(project, CLASS), tmp_path / "file", "--format", "jsonl", "-o", tmp_path / "file/out.csv")
    assert (done.exit_code, "Traceback" in done.output) == (74, False)
    assert run(model(project, ANSWER), source, "--top", "2").exit_code == 78, "no classes"
    assert run(model(project, CLASS), "-").exit_code == 78, "no format"
