"""Brings a public checkpoint into models/init: reads its files, runs no code in them, writes safetensors."""
