"""Comparison -> reports/index.md: the answers, what is amiss, and the tables, as text without figures.

In English, then in Chinese; for places that show Markdown: a pull request, Prefect, a terminal.
"""

from collections.abc import Iterator

from adaptbert.comparison.records import Comparison
from adaptbert.core.printable import printable
from adaptbert.report import answer, prose, tables
from adaptbert.report.language import Text, joined, same, t
from adaptbert.report.tables import Cell, Table

BOLD = "**{}**".format


def in_markdown(comparison: Comparison) -> str:
    blocks = list(_blocks(comparison))
    return printable("\n\n".join([*(block.en for block in blocks), "---", *(block.zh for block in blocks)])) + "\n"


def _blocks(comparison: Comparison) -> Iterator[Text]:
    """Headings, paragraphs and tables, each in both languages."""
    yield answer.heading(comparison).mapped("# {}".format)
    yield t("[Report with figures](index.html)")
    yield from map(prose.of_bases, comparison.rankings)
    for mean in comparison.means:
        name = answer.mean_name(mean).mapped(BOLD)
        yield t("{name}: {fact}", name=name, fact=answer.of_mean(mean, comparison))
    for task in comparison.tasks:
        said = answer.answer(task, comparison) + answer.besides(task, comparison) + answer.parts(task, comparison)
        yield t("{name}: {fact}", name=f"**{task.name}**", fact=said)
        yield answer.next_step(task, comparison)
        for title, commands in answer.models(task, comparison):
            yield title
            yield answer.IN_THE_FOLDER
            yield from (same(f"```{language}\n{lines}```") for language, lines in commands.items())
    yield joined([fact.mapped("- {}".format) for fact in prose.facts(comparison)], "\n", "\n")
    if (demonstration := prose.demonstration(comparison)) is not None:
        yield t("Demonstration corpus.").mapped(BOLD) + demonstration
    if comparison.tasks:
        yield from _with_heading(tables.answers(comparison, comparison.tasks))
        yield from _left_open(comparison)
    of_bases = [each for of in comparison.rankings for each in (tables.bases(of), tables.prices(of, comparison))]
    for table in [*map(tables.arms, comparison.tasks), *of_bases]:
        yield from _with_heading(table)
    yield from _with_heading(tables.checkpoints(comparison))
    yield from prose.of_checkpoints(comparison)
    yield t("Scores and differences times 100.")


def _left_open(comparison: Comparison) -> Iterator[Text]:
    """What would settle the comparisons that are undecided, or why they are not tested."""
    lines = [
        t("- {task}, `{it.arm} − {it.other}`: {fact}", task=task.name, it=each, fact=fact)
        for task in comparison.tasks
        for each in task.answers
        if (fact := prose.left_open(each, task, comparison)).en
    ]
    if lines:
        yield joined(lines, "\n", "\n")


def _with_heading(table: Table) -> Iterator[Text]:
    if table.rows:
        yield table.title.mapped("## {}".format)
        yield in_pipes(table)
        yield from table.notes


def in_pipes(table: Table) -> Text:
    """A table of GitHub's Markdown; its numbers are read, not added up, so all columns are set left."""
    rows = [[*table.columns], [same("---") for _ in table.columns]]
    rows += [[_cell(cell) for cell in row] for row in table.rows]
    cells = [[cell.mapped(lambda text: text.replace("|", r"\|")) for cell in row] for row in rows]
    return joined([joined(row, " | ", " | ").mapped("| {} |".format) for row in cells], "\n", "\n")


def _cell(cell: Cell) -> Text:
    text = cell.text.mapped(BOLD) if cell.chip else cell.text
    return t("{name} ({of})", name=text, of=joined(cell.notes, "; ", "；")) if cell.notes else text
