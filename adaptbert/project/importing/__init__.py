"""Brings a public checkpoint into models/init/<start>: reads its files, runs no code in them, writes safetensors."""
