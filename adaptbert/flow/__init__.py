"""The Prefect flow that runs the stages that dvc.yaml defines, and what it runs them on."""

import warnings

from adaptbert.runtime.libraries import prepare_process

prepare_process()  # before Prefect is imported

# Of a read-only project, about which `python -m flows.recipe` has a line of its own.
warnings.filterwarnings("ignore", "Failed to create the Prefect home directory")
