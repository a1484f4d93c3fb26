"""What the documents take from elsewhere: the demonstration's table and picture, parameters, benchmarks.

    python -m tests.documents           # write all of it anew

tests/docs/test_docs.py compares with what is there.
"""

import os
import re
from pathlib import Path

from adaptbert.base.files import read_json
from adaptbert.comparison.report.readme_picture import picture
from adaptbert.comparison.text_table import comparison_table
from adaptbert.project.parameters_page import page, parameters
from benchmarks.table import tables
from tests.support.imports import ROOT

READMES = ("README.md", "README.zh-CN.md")
PICTURE = "docs/img/ladder.svg"
PARAMETERS = "docs/parameters.md"
BENCHMARKS = "docs/benchmarks.md"
CAPTION = "Demonstration corpus: docstrings of installed Python packages. A small BERT, on two CPU cores."

_TABLE = re.compile(r"(?<=<!-- table -->\n```text\n).*?(?=```\n<!-- /table -->)", re.DOTALL)
_RESULTS = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.DOTALL)


def written() -> dict[str, str]:
    """Each of these documents as it should be; run in the project's folder."""
    summary = read_json(Path("metrics/comparison.json"))
    table = comparison_table(summary) + "\n"
    texts = {name: Path(name).read_text(encoding="utf-8") for name in READMES}
    for name, text in texts.items():
        assert len(_TABLE.findall(text)) == 1, f"{name}: no <!-- table -->"
    return {
        **{name: _TABLE.sub(lambda _: table, text) for name, text in texts.items()},
        PICTURE: picture(summary, CAPTION),
        PARAMETERS: page(parameters()),
        BENCHMARKS: _RESULTS.sub(lambda _: f"\n{tables()}\n", Path(BENCHMARKS).read_text(encoding="utf-8")),
    }


if __name__ == "__main__":
    os.chdir(ROOT)
    for name, text in written().items():
        Path(name).write_text(text, encoding="utf-8")
