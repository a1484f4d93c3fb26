"""Simulated fill-in curves: punctuation is learned first, rare tokens last, emoji are too few to be shown."""

from typing import Any

TOKENS = {"all": 1500, "frequent": 750, "rare": 150, "punctuation": 200, "emoji": 5}
LEVEL = {"all": 0.4, "frequent": 0.55, "rare": 0.1, "punctuation": 0.7, "emoji": 0.2}
STEPS = [0, 1, 3, 10, 100]


def fill_in(texts: list[str], steps: int, from_random: bool) -> dict[str, Any]:
    """As a rung's metrics have it: five points, the last after so many steps."""
    first = 0.0 if from_random else 0.5
    return {
        "steps": [*STEPS[:-1], steps],
        "texts": {
            text: {
                name: {
                    "tokens": TOKENS[name],
                    "untrained": 0.001,
                    "unigram": 0.3 if name == "punctuation" else 0.05 if name in ("all", "frequent") else 0.0,
                    "accuracy": [round(level * (first + (1 - first) * place / 4), 4) for place in range(5)],
                }
                for name, level in LEVEL.items()
            }
            for text in texts
        },
    }
