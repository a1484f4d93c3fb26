"""Reads corpora and labelled sets (installed docstrings, files, the Hugging Face hub) into data/raw."""
