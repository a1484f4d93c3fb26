"""The model card of a release in English and Chinese, README.md and README.zh-CN.md, in the form of the hub."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from adaptbert.comparison.records import Arm, Comparison
from adaptbert.config.load import flatten
from adaptbert.core.printable import printable
from adaptbert.release.choice import Choice
from adaptbert.release.material import Material
from adaptbert.release.record import MODEL, Release
from adaptbert.release.words import t
from adaptbert.report import answer, prose, tables, terms
from adaptbert.report.language import EMPTY, Text
from adaptbert.report.markdown import in_pipes

LANGUAGES = {"README.md": "en", "README.zh-CN.md": "zh"}
_PIPELINES = {"question-answering": "question-answering", "token-classification": "token-classification"}
_PIPELINES |= {"token-tags": "token-classification"}
"""Type of a task -> what the hub calls it, where that is not `text-classification`."""
_HUB_METRICS = {"pearson": "pearsonr"}


def cards(
    release: Release, choice: Choice, comparison: Comparison, material: Material, files: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Name and text of each of the two files; `files`: of the user, that the model has seen -> their md5."""
    names: dict[str, Any] = {
        "t": t,
        "release": release,
        "choice": choice,
        "task": choice.task,
        "comparison": about(choice, comparison, material.texts),
        "material": material,
        "files": files,
        "what": terms.arm_is(choice.model) if isinstance(choice.model, Arm) else choice.model.name,
        "hub": _front_matter(release, comparison.began_from.get(release.base)),
        "commands": answer.commands(choice.task, MODEL, trained=release.kind == "encoder"),
        "flatten": flatten,
        "in_pipes": in_pipes,
        "EMPTY": EMPTY,
    }
    names |= {"answer": answer, "prose": prose, "tables": tables, "terms": terms}
    for file, language in LANGUAGES.items():
        yield file, printable(_templates(language).get_template("card.md.j2").render(names)).rstrip("\n") + "\n"


def about(choice: Choice, comparison: Comparison, texts: Set[str]) -> Comparison:
    """The part of a comparison that is about a model: its task, and the texts that it has seen."""
    seen = texts | {choice.task.task}
    return replace(
        comparison,
        tasks=[choice.task],
        checkpoints=[each for each in comparison.checkpoints if each.base == choice.task.base],
        sources=[source for source in comparison.sources if source.name in seen],
        rankings=[],
        means=[],
    )


def _templates(language: str) -> Environment:
    def in_language(value: object) -> object:
        return getattr(value, language) if isinstance(value, Text) else value

    return Environment(
        loader=PackageLoader("adaptbert.release", "."),
        finalize=in_language,
        autoescape=False,  # Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _front_matter(release: Release, base_model: str | None) -> dict[str, object]:
    """What the hub reads and the record knows; language and licence are the user's to fill in."""
    metric = _HUB_METRICS.get(release.metric, "f1" if release.metric.startswith("f1") else release.metric)
    known = {"library_name": "transformers"} if release.kind == "encoder" else {}
    known["pipeline_tag"] = _PIPELINES.get(release.type, "text-classification")
    if base_model is not None and release.kind == "encoder":
        known["base_model"] = base_model
    return {**known, "metrics": [metric], "tags": ["adaptbert"]}
