"""The masking audit of every simulated rung."""

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
