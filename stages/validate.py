"""Validation: raw corpora and labelled sets -> valid rows for training, and rejected rows with a reason.

data/raw -> data/validated + data/rejected + metrics/validate.json (rows in = rows kept + rows rejected, for each set)
"""

import logging
from contextlib import ExitStack
from pathlib import Path

from adaptbert.config.load import flatten
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import atomic_write, write_json
from adaptbert.errors import raise_all
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.worker_pool import workers
from adaptbert.stage import run_stage


def validate(
    params: Limits,
    *,
    recipe: Recipe,
    corpora: Path,
    tasks: Path,
    out: Path,
    rejected: Path,
    metrics: Path,
    run: Run,
) -> None:
    from adaptbert.data.leaks import ForbiddenText
    from adaptbert.data.validate_corpus import Corpus, validate_corpus
    from adaptbert.data.validate_set import ValidatedSet, validate_labelled_set

    with ExitStack() as outputs:
        valid, rejects = (outputs.enter_context(atomic_write(path)) for path in (out, rejected))
        (valid / "tasks").mkdir(parents=True)  # later stages name it, also where the recipe has no task
        labelled, texts = dict[str, ValidatedSet](), dict[str, Corpus]()
        for name in sorted(recipe.tasks):
            reject_file = rejects / "tasks" / f"{name}.parquet"
            labelled[name] = validate_labelled_set(tasks / name, valid / "tasks" / name, reject_file, params)
        forbidden = ForbiddenText(text for task in labelled.values() for text in task.held_out)
        for name in sorted(recipe.corpora):
            kept, reject_file = (folder / "corpora" / f"{name}.parquet" for folder in (valid, rejects))
            texts[name] = validate_corpus(corpora / name, kept, reject_file, forbidden, params, workers())
        errors = [*(task.errors for task in labelled.values()), *(corpus.errors for corpus in texts.values())]
        raise_all([error for of_set in errors for error in of_set])
    report = {
        "corpora": {name: corpus.account.as_json() for name, corpus in texts.items()},
        "tasks": {name: {split: a.as_json() for split, a in task.accounts.items()} for name, task in labelled.items()},
    }
    write_json(metrics, report)
    accounts = {name: corpus.account for name, corpus in texts.items()}
    accounts |= {f"{name}/{split}": a for name, task in labelled.items() for split, a in task.accounts.items()}
    for name, account in accounts.items():
        logging.info("%s: %s", name, account)
    run.log_metrics({name.replace(".", "/"): value for name, value in flatten(report).items()}, step=0)
    run.log_artifact(metrics)


if __name__ == "__main__":
    run_stage(validate)
