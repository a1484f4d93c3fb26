import json
from pathlib import Path

import pytest

WORDS = ["The room was clean.", "We waited for an hour.", "Never again!", "A quiet place to work.", "They were kind."]


def rows(count: int, begin: int = 0) -> str:
    """JSON lines of sentences with one of two labels."""
    numbers = range(begin, begin + count)
    each = [{"sentence": f"{WORDS[n % 5]} Room {n}.", "label": ["bad", "good"][n % 2]} for n in numbers]
    return "".join(json.dumps(row) + "\n" for row in each)


@pytest.fixture
def reviews(tmp_path: Path) -> list[str]:
    """Three files of a labelled set, outside of the project."""
    counts = {"train": (60, 0), "dev": (20, 100), "test": (20, 200)}
    for split, (count, begin) in counts.items():
        (tmp_path / f"Reviews.{split}.jsonl").write_text(rows(count, begin))
    return [str(tmp_path / f"Reviews.{split}.jsonl") for split in counts]
