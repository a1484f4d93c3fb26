"""Parses files of the known formats into records with the fields that params.yaml maps."""
