"""The recipe as a Prefect flow: the stages of dvc.yaml, as adaptbert.flow.recipe runs them.

python -m flows.recipe --until compare --jobs 2        # here and now, without a server
python -m flows.recipe --cluster --jobs 8              # on the machines of a cluster (docs/how-to/gpu.md)
prefect deployment run recipe/local --watch            # on a worker; `--param until=domain_transfer`
"""

from adaptbert.flow import process

if __name__ == "__main__":
    process.take_signals()  # before the import below, which takes seconds

from adaptbert.flow.recipe import main, recipe

__all__ = ["recipe"]

if __name__ == "__main__":
    main()
