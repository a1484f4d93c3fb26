"""Manages the user's project folder: presets, own data and `adaptbert check`."""
