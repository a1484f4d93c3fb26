"""The few numbers of metrics/metrics.json."""

from pathlib import Path

from adaptbert.config.load import flatten
from adaptbert.core.files import read_json
from adaptbert.report.headlines import headlines

SUMMARY = {
    "section": {
        "small": {
            "scratch": {"f1_macro": 0.123456, "low": 0.1, "high": 0.2, "seeds": [[1, 0.1]], "rung": ["scratch"]},
            "domain": {},
            "majority": {"f1_macro": 0.05},
            "steps": {
                "climb": {"of": ["domain", "scratch"], "verdict": "untested"},
                "pretrain": {"of": ["general", "scratch"], "verdict": "descriptive", "difference": -0.00001},
            },
        },
        "base": {"domain": {"f1_macro": 0.25}, "steps": {}},
    },
    "mention": {"small": {"domain": {"f1_span": 0.5}, "steps": {}}},
    "worth": 0.01,
    "replicated": [["pretrain", "small", 2, 1, 0]],
    "starts": {"section": {"arm": ["domain"], "order": ["small", "base"], "arms": {}}},
    "inspection": {"section": {"small": {"ece": 0.1}}},
    "bits_per_char": {"scratch": {"general": 3.0}},
    "training": {"scratch": {"tokens": 0, "tflop": 0.0}},
}


def test_scores_and_differences_and_nothing_else() -> None:
    assert headlines(SUMMARY) == {
        "section": {
            "small": {"scratch": 12.35, "majority": 5.0, "steps": {"pretrain": 0.0}},
            "base": {"domain": 25.0},
        },
        "mention": {"small": {"domain": 50.0}},
    }


def test_what_is_committed() -> None:
    """A few dozen columns in `dvc exp show`; and the only file that DVC takes for metrics."""
    committed = read_json(Path("metrics/metrics.json"))
    assert committed == headlines(read_json(Path("metrics/comparison.json")))
    assert len(flatten(committed)) < 50
    dvc_yaml = Path("dvc.yaml").read_text("utf-8")
    assert dvc_yaml.count("\n    metrics:\n      - metrics/metrics.json:\n") == dvc_yaml.count("    metrics:") == 1
