"""Prefect flows: who climbs the ladder, when and where. What there is to climb stands in dvc.yaml."""
