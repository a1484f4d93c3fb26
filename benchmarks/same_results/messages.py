"""Bad inputs -> what the commands say to them: exit code, error code, place with problem, and remedy.

    python -P messages.py REQUEST       # in a clone in which the recipe of four task types has run

It runs by its path, so that all it imports of this project is the command line of the clone. A case spoils
files of the clone, calls one command in this process, and puts the files back.
"""

import contextlib
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BEGIN = "--- same_results: messages ---"
CHECK = ("check",)
Spoil = Callable[[Path], object]

# name -> (place by its name in schemas/, value, or None for that in schemas/); `adaptbert check` reads the params.yaml.
VALUES: dict[str, tuple[str, Any]] = {
    "unknown key": ("vocabulary_sise", 500),
    "unknown section": ("tokeniser", {}),
    "text for a number": ("steps", "many"),
    "fraction for a count": ("steps", 1.5),
    "list for a number": ("learning_rate", [0.1]),
    "number for a choice": ("sentence_objective", 1),
    "unknown choice": ("unit", "syllable"),
    "below the bound": ("learning_rate", -1.0),
    "above the bound": ("steps", 10**12),
    "zero words": ("vocabulary_size", 0),
    "not finite": ("learning_rate", float("nan")),
    "shares that are not 1": ("mask_share", 0.5),
    "heads and hidden size": ("heads", 3),
    "longer than the positions": ("max_positions", 16),
    "batch and micro-batch": ("micro_batch", 7),
    "options of another type": ("pairs_options", None),
    "seed twice": ("seeds", [1, 1]),
    "no such file": ("train", "data/own/mod.train.csv"),
    "home in a path": ("train", "~/mood.train.csv"),
    "one file for two splits": ("train", "data/own/mood.dev.csv"),
    "unknown column": ("columns", {"text": "coment", "label": "mood"}),
    "unknown field": ("columns", {"txt": "comment", "label": "mood"}),
    "another format": ("answers_format", "cmrc"),
    "another tag scheme": ("tag_scheme", "iobes"),
    "unknown question": ("primary", ["climbing"]),
    "no confidence": ("confidence", 0),
    "unknown corpus of an arm": ("arm_corpus", "news"),
    "name that is no name": ("new_arm", {}),
}


def _replaced(old: str, new: str) -> Spoil:
    def spoil(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(old, new), encoding="utf-8")

    return spoil


def _content(content: bytes) -> Spoil:
    return lambda file: file.write_bytes(content)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _utf_16(file: Path) -> None:
    file.write_bytes(file.read_text(encoding="utf-8").encode("utf-16"))


def _offset(file: Path) -> None:
    """Answers one character further than they stand, each row by other rules than the last."""
    document = json.loads(file.read_text(encoding="utf-8"))
    questions = [each for article in document["data"] for part in article["paragraphs"] for each in part["qas"]]
    for number, question in enumerate(questions):
        for answer in question["answers"]:
            answer["answer_start"] = max(0, answer["answer_start"] + (-1, 1, 3)[number % 3])
    file.write_text(json.dumps(document), encoding="utf-8")


# name -> (file from the folder of the user's files, how it is spoilt); `adaptbert check` reads it.
FILES: dict[str, tuple[str, Spoil]] = {
    "empty file": ("mood.dev.csv", _content(b"")),
    "only a header": ("mood.dev.csv", _content(b"comment,mood\n")),
    "renamed column": ("mood.train.csv", _replaced("comment,mood", "Comment,mood")),
    "UTF-16": ("mood.test.csv", _utf_16),
    "NUL bytes": ("mood.test.csv", _content(bytes(5000))),
    "zip": ("mood.test.csv", _content(b"PK\x03\x04" + bytes(300))),
    "label not in train": ("mood.dev.csv", _replaced(",far", ",near")),
    "labels that look alike": ("mood.dev.csv", _replaced(",far", ",Far")),
    "one class": ("pairs.train.jsonl", _replaced('"no"', '"yes"')),
    "missing field": ("pairs.dev.jsonl", _replaced('"b"', '"c"')),
    "JSON array": ("pairs.test.jsonl", _content(b'[\n{"a": "x", "b": "y", "same": "no"}\n]\n')),
    "wrong tags": ("terms.train.conll", _replaced(" B-", " S-")),
    "no tags": ("terms.test.conll", _replaced(" O", "")),
    "answers elsewhere": ("answers.train.json", _offset),
    "cut JSON": ("answers.dev.json", _cut),
    "gzip that is damaged": ("general.txt.gz", _content(b"\x1f\x8b" + b"plain text\n" * 9)),
    "corpus without its column": ("domain.jsonl", _replaced('"body"', '"text"')),
}

# name -> how params.yaml is spoilt as text.
TEXTS: dict[str, Spoil] = {
    "key twice": lambda file: file.write_text(file.read_text(encoding="utf-8") + "\nseed: 2\n", encoding="utf-8"),
    "not YAML": lambda file: file.write_text("seed: [1\n", encoding="utf-8"),
    "YAML tag": _replaced("\nseed: 1", "\nseed: !!python/object:os.system 1"),
    "full-width colon": _replaced("\nseed: 1", "\nseed：1"),
    "not UTF-8": _content(b"seed: \xff\n"),
    "not a mapping": _content(b"- 1\n"),
}


def _wider(folder: Path) -> None:
    """A config wider than the weights, without the card, which has the digest of config.json."""
    _replaced('"hidden_size": 32', '"hidden_size": 64')(folder / "config.json")
    (folder / "card.json").unlink()


def _other_vocabulary(folder: Path) -> None:
    _replaced('"ba"', '"qq"')(folder / "tokenizer.json")
    text = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    words = list(text["model"]["vocab"])
    text["model"]["vocab"] |= {words[-1]: len(words) - 2, words[-2]: len(words) - 1}
    (folder / "tokenizer.json").write_text(json.dumps(text), encoding="utf-8")


# name -> (place of the checkpoint, how its folder is spoilt); `adaptbert predict` reads it.
CHECKPOINTS: dict[str, tuple[str, Spoil]] = {
    "weights cut": ("fine_tuned", lambda folder: _cut(folder / "model.safetensors")),
    "weights missing": ("fine_tuned", lambda folder: (folder / "model.safetensors").unlink()),
    "config cut": ("fine_tuned", lambda folder: _cut(folder / "config.json")),
    "card missing": ("fine_tuned", lambda folder: (folder / "card.json").unlink()),
    "tokenizer cut": ("fine_tuned", lambda folder: _cut(folder / "tokenizer.json")),
    "vocabulary of another model": ("fine_tuned", _other_vocabulary),
    "no checkpoint": ("fine_tuned", shutil.rmtree),
    "not fine-tuned": ("pretrained", lambda folder: None),
}
IMPORTED: dict[str, Spoil] = {
    "another architecture": lambda folder: _replaced('"bert"', '"gpt2"')(folder / "config.json"),
    "no mask token": lambda folder: _replaced("[MASK]", "[MUSK]")(folder / "tokenizer.json"),
    "weights and config disagree": _wider,
    "no config": lambda folder: (folder / "config.json").unlink(),
}
INPUTS: dict[str, tuple[str, bytes]] = {
    "column missing": ("rows.csv", b"text,mood\na text,warm\n"),
    "bad rows": ("rows.jsonl", b'{"comment": "a text"}\n{"comment": ""}\n{"comment": 7}\n{"comment": "cut\n\xff\n'),
    "no input": ("", b""),
}


def call(*arguments: str) -> dict[str, Any]:
    """A command in this process, and what it said on stderr."""
    from adaptbert.cli import app

    said, sys.argv = io.StringIO(), ["adaptbert", *arguments]
    exit_code: Any = 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            app()
        except SystemExit as stopped:
            exit_code = stopped.code
        except Exception as error:  # what a user would see as a traceback
            exit_code = f"{type(error).__name__}: {error}"
    return parsed(exit_code, said.getvalue().replace(str(Path.cwd()), "."))


def parsed(exit_code: Any, text: str) -> dict[str, Any]:
    """Exit code, and each message apart: what is indented belongs to the line above."""
    found: dict[str, Any] = {"exit": exit_code}
    text = re.sub(r"\r|[^\r\n]* rows/s [^\r\n]*", "", text)  # how far it is
    for number, message in enumerate(re.findall(r"^\S.*(?:\n  .*)*", text, re.MULTILINE)):
        first, *remedy = message.splitlines()
        code, said = re.fullmatch(r"(?:error: )?(AB-\d+)? ?(.*)", first).groups()  # type: ignore[union-attr]
        found |= {f"{number}.code": code, f"{number}.said": said, f"{number}.remedy": " ".join(map(str.strip, remedy))}
    return found


@contextlib.contextmanager
def kept(*paths: Path) -> Iterator[None]:
    """Afterwards files and folders are as they were."""
    aside = Path(".git/aside")
    for number, path in enumerate(paths):
        if path.exists():
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, aside.with_name(f"aside{number}"))
    try:
        yield
    finally:
        for number, path in enumerate(paths):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            if (copy := aside.with_name(f"aside{number}")).exists():
                copy.rename(path)


def changed(params: Path, place: str, value: Any) -> None:
    """A value of params.yaml, with all that stands around it."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 10_000
    document = yaml.load(params.read_text(encoding="utf-8"))
    inner, (*above, last) = document, place.split(".")
    for key in above:
        inner = inner.setdefault(key, {})
    inner[last] = value
    with params.open("w", encoding="utf-8") as file:
        yaml.dump(document, file)


def said(request: dict[str, Any], own: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each case by name."""
    params, plan, places = Path("params.yaml"), Path(request["plan"]), request["places"]
    yield "nothing wrong", call(*CHECK)
    for name, (place, value) in VALUES.items():
        with kept(params):
            changed(params, places[place], request["values"][place] if value is None else value)
            yield name, call(*CHECK)
    for name, spoil in TEXTS.items():
        with kept(params):
            spoil(params)
            yield name, call(*CHECK)
    for name, (file, spoil) in FILES.items():
        with kept(params, own / file):
            if not (own / file).exists():
                changed(params, places["general_path"], str(own / file))
            spoil(own / file)
            yield name, call(*CHECK)
    with kept(params):
        changed(params, places["other_arm"], {"domain_transfer": ["general", "domain"]})
        yield "arm that was not expanded", call(*CHECK)
    with kept(plan):
        plan.unlink()
        yield "no expansion", call(*CHECK)


def of_checkpoints(request: dict[str, Any], own: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows, checkpoints = str(own / "mood.test.csv"), request["checkpoints"]
    for name, (place, spoil) in CHECKPOINTS.items():
        folder = Path(checkpoints[place])
        with kept(folder):
            spoil(folder)
            yield name, call("predict", str(folder), rows, "-o", "out.jsonl", "--columns", "text=comment")
    for name, spoil in IMPORTED.items():
        folder = own / "import"
        with kept(folder, Path("params.yaml")):
            shutil.copytree(Path(checkpoints["pretrained"]), folder)
            spoil(folder)
            yield f"import: {name}", call("import", str(folder), request["import"], "brought")
    for name, (file, content) in INPUTS.items():
        source = own / (file or "nowhere.csv")
        with kept(source):
            if file:
                source.write_bytes(content)
            command = ("predict", checkpoints["fine_tuned"], str(source), "-o", "out.jsonl")
            yield f"predict: {name}", call(*command, "--columns", "text=comment")


def main() -> None:
    request = json.loads(sys.argv[1])
    own = Path(request["own"])
    cases = [*said(request, own), *of_checkpoints(request, own)]
    values = {f"{name}:{key}": value for name, each in cases for key, value in each.items()}
    print(BEGIN + json.dumps(values))


if __name__ == "__main__":
    main()
