"""Simulated rows, and what a model of a known accuracy answers to them."""

import random
from collections.abc import Sequence
from typing import Any

LABELS = ["Lead", "Notes", "Parameters", "Raises", "Returns"]
TYPES = ["CODE", "PARAM", "REF"]


def sentence(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a single-sentence task; its word tells something of its label."""
    label = dice.choice(LABELS)
    word = f"word{LABELS.index(label)}{dice.randrange(6)}" if dice.random() < 0.4 else f"word{dice.randrange(5)}x"
    return {"id": row_id, "text": f"simulated {word} text {dice.randrange(40)}", "label": label}


def tagged(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a sequence-labelling task."""
    tokens, tags = [], []
    while len(tokens) < 10:
        if dice.random() < 0.25:
            kind = dice.choice(TYPES)
            words = dice.randint(1, 2)
            tokens += [f"{kind.lower() if dice.random() < 0.3 else 'name'}{dice.randrange(30)}" for _ in range(words)]
            tags += [f"B-{kind}", *[f"I-{kind}"] * (words - 1)]
        else:
            tokens.append(f"filler{dice.randrange(30)}")
            tags.append("O")
    return {"id": row_id, "tokens": tokens, "tags": tags}


def predict(gold: Any, hardness: Sequence[float], chance: float, dice: random.Random) -> Any:
    """The right answer where the row (tag by tag) is easy enough for this chance, else another label."""
    if isinstance(gold, str):
        wrong = LABELS[(LABELS.index(gold) + dice.choice([1, 1, 2, 4])) % len(LABELS)]
        return gold if hardness[0] < chance + dice.gauss(0, 0.05) else wrong
    predicted: list[str] = []
    for tag, hard in zip(gold, hardness, strict=True):
        if tag.startswith("B-"):
            kind = tag[2:] if hard < chance + dice.gauss(0, 0.05) else dice.choice([*TYPES, "O"])
            predicted.append("O" if kind == "O" else f"B-{kind}")
        elif tag.startswith("I-"):
            predicted.append("O" if predicted[-1] == "O" else f"I-{predicted[-1][2:]}")
        else:
            predicted.append("O")
    return predicted


def difficulty(row_id: str, place: int) -> float:
    """How hard a row is, the same for all arms and seeds: this is what makes cells comparable."""
    return random.Random(f"{row_id} {place}").random()
