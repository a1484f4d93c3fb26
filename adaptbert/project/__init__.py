"""The user's project folder: presets, own data, rules between sections, `adaptbert check` and `doctor`."""
