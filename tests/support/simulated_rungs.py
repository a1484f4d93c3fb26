"""Simulated rungs: bits per character before and after, on every held-out text, and the masking audit."""

import random
from collections.abc import Sequence
from pathlib import Path

from adaptbert.config.plan import Plan
from adaptbert.core.files import write_json
from adaptbert.mlm.records import StepMetrics

BITS = {  # after each rung: general, domain, task text
    "scratch": (4.30, 4.45, 4.40),
    "pretrain": (3.05, 3.30, 3.28),
    "domain_transfer/domain": (3.12, 2.45, 2.50),
    "domain_transfer/general": (2.70, 2.95, 2.97),
    "task_transfer/section": (3.09, 3.24, 3.12),
    "task_transfer/section-domain": (3.16, 2.46, 2.44),
    "task_transfer/mention": (3.10, 3.25, 3.14),
    "task_transfer/mention-domain": (3.17, 2.47, 2.45),
}
MASKING = {
    "unit": "token",
    "probability": 0.15,
    "documents": 20_000,
    "rate": 0.1497,
    "rate_p05": 0.06,
    "rate_p50": 0.148,
    "rate_p95": 0.262,
    "unit_tokens": 1.0,
    "specials": 0,
    "documents_without": 0.0112,
    "documents_without_expected": 0.0109,
    "documents_whole": 0.0,
    "documents_whole_expected": 0.0001,
    "rate_continuation": 0.151,
    "rate_latin": 0.1493,
    "rate_punctuation": 0.1502,
}
"""The masking audit of every rung."""
REPLICATES_APART = 0.02
"""Bits per character that each further replicate of a checkpoint is worse by."""
TOKENS = {"pretrain": 800_000, "domain_transfer": 2_000_000, "task_transfer": 250_000}


def write_rung(root: Path, rung: str, below: str, ladder: Plan, dice: random.Random) -> None:
    """Its metrics, in `root`/metrics."""
    before, after = _bits(below), _bits(rung)
    names = ["general", "domain", *dict.fromkeys(cell.task for cell in ladder.finetune.values())]

    def measured(bits: Sequence[float]) -> dict[str, dict[str, float]]:
        spread = (*bits, bits[-1] + 0.03)
        return {
            name: {"bits_per_char": value, "mlm_loss": value * 1.9, "masked_accuracy": 0.5 / value}
            for name, value in zip(names, spread, strict=False)
        }

    tokens = TOKENS[rung.split("/")[0]]
    steps, points = tokens // 2048, 4
    curve: list[dict[str, float]] = []
    for point in range(1, points + 1):
        done = 1 - (1 - point / points) ** 2
        now = measured(
            [
                b + (a - b) * done + (dice.gauss(0, 0.01) if point < points else 0)
                for b, a in zip(before, after, strict=True)
            ]
        )
        curve.append(
            {"step": steps * point // points, "tokens": tokens * point // points, "train/mlm_loss": 6 - done}
            | {f"{name}/bits_per_char": values["bits_per_char"] for name, values in now.items()}
        )
    metrics = StepMetrics.model_validate(
        {
            "rung": rung,
            "from": below,
            "tokens": tokens,
            "steps": steps,
            "tflop": tokens * 6 * 5.3e6 / 1e12,
            "parameters": 5_300_000,
            "before": measured(before),
            "after": measured(after),
            "curve": curve,
            "masking": MASKING,
        }
    )
    write_json(root / f"metrics/{rung}.json", metrics.as_json())


def _bits(rung: str) -> list[float]:
    draw = rung.rpartition("-")[2]
    return [bits + REPLICATES_APART * (int(draw) - 1 if draw.isdecimal() else 0) for bits in BITS[_like(rung)]]


def _like(rung: str) -> str:
    """The key of `BITS`; tasks that it does not have are like `section`."""
    stage, _, key = rung.partition("/")
    if stage in BITS:
        return stage
    path = "-".join(key.split("-")[:-2])
    name = f"{stage}/{path}"
    return name if name in BITS else f"task_transfer/{'-'.join(['section', *path.split('-')[1:]])}"
