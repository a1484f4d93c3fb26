"""Prefect flows: run and schedule the stages that dvc.yaml defines."""
