"""A file of a known format -> records with the fields that params.yaml names."""
