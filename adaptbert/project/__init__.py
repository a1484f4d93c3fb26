"""Manages the user's project folder: presets, own data, `adaptbert check` and `adaptbert doctor`."""
