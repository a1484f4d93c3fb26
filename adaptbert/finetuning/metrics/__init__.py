"""Scores predicted answers against gold answers, and measures calibration."""
