"""Made-up text in the files of a user: two corpora and a labelled set of four task types, with rows to be rejected.

Every word is drawn by `random.Random`, whose draws do not depend on the version of Python or of numpy.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "li", "mo", "ne", "pa", "ri", "so", "ta", "ve", "zu")
TOPICS = {topic: random.Random(topic) for topic in ("general", "weather", "kitchen", "harbour")}
WORDS = {
    topic: ["".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(70)] for topic, draw in TOPICS.items()
}
LONG = "word " * 500
"""A text longer than `validate.max_characters` of the recipe."""
SIZES = {"train": 60, "dev": 24, "test": 24}


class Writer:
    """Sentences from one stream of draws.

    Args:
        seed: a text, so that each file has a stream of its own.
    """

    def __init__(self, seed: str) -> None:
        self.draw = random.Random(seed)

    def words(self, topic: str, least: int = 6, most: int = 11) -> list[str]:
        return self.draw.choices(WORDS[topic] + WORDS["general"][:25], k=self.draw.randint(least, most))

    def sentence(self, topic: str) -> str:
        return " ".join(self.words(topic)).capitalize() + "."

    def document(self, topic: str) -> str:
        """Texts of two to five sentences: a sentence objective needs two, and some are longer than `max_length`."""
        return " ".join(self.sentence(topic) for _ in range(self.draw.randint(2, 5)))


def write(folder: Path) -> None:
    """All files of the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    moods = {split: _mood(split, size) for split, size in SIZES.items()}
    terms = {split: _terms(split, size) for split, size in SIZES.items()}
    for split in SIZES:
        (folder / f"mood.{split}.csv").write_text("comment,mood\n" + "".join(moods[split]), encoding="utf-8")
        (folder / f"terms.{split}.conll").write_text("\n".join(terms[split]), encoding="utf-8")
        _lines(folder / f"pairs.{split}.jsonl", _pairs(split, SIZES[split]))
        (folder / f"answers.{split}.json").write_text(json.dumps(_answers(split, SIZES[split])), encoding="utf-8")
    held_out = moods["dev"][0].partition(",")[0]
    writer = Writer("general")
    general = [writer.document(writer.draw.choice(list(WORDS))) for _ in range(160)]
    general += [
        general[3],
        "",
        " ",
        "x",
        LONG,
        f"Before it {held_out} and after it.",
        "a mark \x93of 1252\x94",
        "ﬀ １２",
    ]
    content = "\n".join(general).encode() + b"\nnot UTF-8: " + "déjà".encode("latin-1") + b"\n"
    (folder / "general.txt").write_bytes(content)
    writer = Writer("domain")
    domain: list[Any] = [{"n": n, "body": writer.document("weather" if n % 3 else "harbour")} for n in range(160)]
    domain += [
        {"n": 7, "body": domain[5]["body"]},
        {"n": 8},
        {"n": 9, "body": None},
        {"n": 9, "body": 5},
        '{"body": "cut',
    ]
    _lines(folder / "domain.jsonl", domain)


def _mood(split: str, size: int) -> list[str]:
    writer = Writer(f"mood {split}")
    topics = {"warm": "kitchen", "cold": "weather", "far": "harbour"}
    rows = []
    for number in range(size):
        mood = list(topics)[number % 3]
        rows.append(f"{writer.document(topics[mood])},{mood}\n")
    return [*rows, rows[4], ",warm\n", f"{writer.sentence('kitchen')},\n", f"{LONG},cold\n", *_again(split, rows)]


def _again(split: str, rows: list[str]) -> list[str]:
    """Rows of the training split that dev has too, and one that looks the same after normalising."""
    dev = _mood("dev", SIZES["dev"]) if split == "train" else []
    return [dev[1], dev[2].upper().replace("COLD", "cold").replace("WARM", "warm").replace("FAR", "far")] if dev else []


def _terms(split: str, size: int) -> list[str]:
    writer = Writer(f"terms {split}")
    sentences = []
    for _ in range(size):
        lines = []
        for word in writer.words("kitchen", 8, 40):
            kind = "DISH" if word in WORDS["kitchen"][:12] else "TOOL" if word in WORDS["kitchen"][12:20] else ""
            lines.append(f"{word} B-{kind}" if kind else f"{word} O")
            if kind == "DISH" and writer.draw.random() < 0.4:
                lines.append(f"{writer.draw.choice(WORDS['general'])} I-DISH")
        sentences.append("\n".join(lines) + "\n")
    bad = ["Alone O\nbegins I-TOOL\n", "one B-DISH\ntwo\n", "\u200b O\nhidden O\n", sentences[2]]
    return [*sentences, *bad]


def _pairs(split: str, size: int) -> list[Any]:
    writer = Writer(f"pairs {split}")
    rows: list[Any] = []
    for number in range(size):
        first = writer.words("weather", 6, 20)
        alike = number % 2 == 0
        second = writer.draw.sample(first, len(first) - 2) if alike else writer.words("harbour", 6, 20)
        rows.append({"a": " ".join(first), "b": " ".join(second), "same": "yes" if alike else "no"})
    return [
        *rows,
        rows[1],
        {"a": "", "b": "alone", "same": "no"},
        {"a": "one", "same": "no"},
        {**rows[0], "same": None},
    ]


def _answers(split: str, size: int) -> dict[str, Any]:
    writer = Writer(f"answers {split}")
    articles = []
    for number in range(size // 2):
        words = writer.words("harbour", 20, 70)
        context, questions = " ".join(words), []
        for question in range(2):
            place = writer.draw.randrange(len(words) - 2)
            answer = {
                "text": " ".join(words[place : place + 2]),
                "answer_start": len(" ".join(words[:place])) + (place > 0),
            }
            known = {"answers": [answer], "is_impossible": False}
            wording = f"what follows {words[place - 1]} {number}" if place else f"what is first {number}"
            unknown: dict[str, Any] = {"answers": [], "is_impossible": True}
            fields = unknown if (number + question) % 7 == 6 else known
            questions.append({"id": f"{split}-{number}-{question}", "question": wording, **fields})
        articles.append({"title": f"{split} {number}", "paragraphs": [{"context": context, "qas": questions}]})
    bad = [
        {"id": f"{split}-bad-{start}", "question": "where", "answers": [{"text": "sea", "answer_start": start}]}
        for start in (2, 999)
    ]
    paragraphs = [{"context": f"by the sea of {split}", "qas": bad}]
    return {"version": "made up", "data": [*articles, {"title": f"{split} bad", "paragraphs": paragraphs}]}


def _lines(path: Path, rows: Iterable[Any]) -> None:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
