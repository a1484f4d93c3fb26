"""The figures of the report: colours, axes, bars as long as their values; their files, and the data of `dvc plots`."""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from adaptbert.comparison.questions import ROLES
from adaptbert.comparison.records import Comparison, Confusion, LearningPoint
from adaptbert.config.schema.comparison import ORDER
from adaptbert.report.drawing import (
    Figure,
    Row,
    chart_style,
    draw_rows,
    nice_ticks,
    plain_style,
    standalone,
    write_figures,
)
from adaptbert.report.figures import all_figures, bits_per_char, of_task, write_plots
from adaptbert.report.language import Text, same
from adaptbert.report.page import render
from adaptbert.statistics.intervals import Interval
from adaptbert.statistics.verdicts import Verdict
from tests.support.judged_answers import answered
from tests.support.known import known
from tests.support.page_reader import CHINESE
from tests.support.snapshots import agrees

SVG = "{http://www.w3.org/2000/svg}"
SAID = Path(__file__).parent / "said/figures.md"


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb: WCAG 2.1."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("css", ["charts.css", "page.css"], ids=["light", "dark"])
def test_every_role_has_a_colour_of_its_own_that_contrasts_with_the_page(css: str) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", files("adaptbert.report").joinpath(css).read_text("utf-8")))
    named = dict(re.findall(r"\.role-(\w+) { color: var\(--([\w-]+)\); }", chart_style()))
    assert {named[role] for role in ROLES} <= colours.keys(), "both files need another --hue-"
    assert len({colours[named[role]] for role in ROLES}) == len(ROLES)
    for role in ROLES:
        darker, lighter = sorted(map(luminance, (colours[named[role]], colours["paper"])))
        assert (lighter + 0.05) / (darker + 0.05) >= 3, f"{role}: graphics need a contrast of 3 (WCAG 2.1, 1.4.11)"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 0.62, [0.0, 0.2, 0.4, 0.6, 0.8]),
        (2.42, 4.45, [2.0, 2.5, 3.0, 3.5, 4.0, 4.5]),
        (1.0, 1.0, [1.0, 1.2]),
        (-0.03, 0.11, [-0.05, 0.0, 0.05, 0.1, 0.15]),
    ],
)
def test_axes_have_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


def bar(name: str, mean: float, low: float | None = None, high: float | None = None, **more: bool) -> Row:
    return Row(same(name), "role-domain", Interval(mean, low, high), {1: {1: mean, 2: mean + 0.01}}, **more)


BASELINE = Row(same("a baseline"), "", Interval(0.1, None, None), is_line=True)


@pytest.mark.parametrize(
    ("rows", "drawn_so"),
    [
        ([bar("as long as its value", 0.3, 0.2, 0.4)], 'width="75.00%"'),
        ([bar("a", 0.3, 0.2, 0.4), BASELINE], 'class="control" x1="25.00%"'),
        ([bar("a negative correlation", -0.2), bar("b", 0.19)], 'x="0.00%" y="22" width="50.00%"'),
        ([bar("a", -0.2), bar("points to the right", 0.19)], 'x="50.00%" y="68" width="47.50%"'),
        # An interval may be negative, though all seeds are positive: of an axis from -40 to 60.
        ([bar("whole", 0.1, -0.3, 0.5)], 'class="whisker role-domain" x1="10.00%" x2="90.00%"'),
    ],
)
def test_bars_and_lines(rows: list[Row], drawn_so: str) -> None:
    assert drawn_so in "".join(draw_rows(rows).parts)


def pictures(comparison: Comparison, several: Comparison) -> Iterator[Figure]:
    """One figure of each kind, with names, captions and legends that are too long for a line."""
    long, wide = "an_arm_with_a_name_that_takes_more_room", "领域文本本身" * 3
    rows = [
        bar(long, 0.3, 0.2, 0.4, is_best=True),
        bar(wide, 0.25),
        bar(wide[:17], 0.3),
        replace(bar("many", 0.2, 0.1, 0.3), dots={place: {1: 0.15, 2: 0.25} for place in range(4)}),
        Row(same("absent"), "role-task", None),
        BASELINE,
    ]
    legend = {f"domain_transfer/corpus_{place}": "role-domain" for place in range(8)}
    yield Figure("bars", same("Arms"), Text("word " * 60, "字" * 150), draw_rows(rows), "section", legend)
    task, verdicts = comparison.tasks[0], dict(zip(ORDER, ("gain", "undecided", "equivalent"), strict=False))
    answers = [
        answered(task, name, 0.02 - 0.02 * place, 0.01, verdict)
        for place, (name, verdict) in enumerate(verdicts.items())
    ]
    answers += [replace(answers[0], name="none", difference=None), replace(answers[0], arm="scratch", verdict="loss")]
    unlearned = [
        replace(arm, interval=Interval(0.0, None, None)) if arm.name == "scratch" else arm for arm in task.arms
    ]
    yield of_task(replace(task, answers=answers, arms=unlearned), comparison)["differences"]
    ends = [(0.2, 0.1, 0.3), (0.4, 0.3, 0.5), (0.6, 0.5, 0.7)]
    curve = [LearningPoint(100 * 2**place, {1: each[0]}, Interval(*each)) for place, each in enumerate(ends)]
    of_one_seed = [replace(each, interval=replace(each.interval, low=None, high=None)) for each in curve]
    arms = [replace(task.arms[0], learning_curve=curve), replace(task.arms[3], learning_curve=of_one_seed)]
    yield of_task(replace(task, arms=[*arms, *task.arms[4:]]), comparison)["learning"]
    yield next(figure for figure in bits_per_char(several) if figure.name == "curve-base-section")


def test_what_is_drawn(comparison: Comparison, several: Comparison) -> None:
    """Labels that double are equally far apart; curves grow upward, with a band where there are several seeds; every
    run is a dot, every replicate a line of dots, or a curve of its own."""
    names = ("bars", "differences-section", "learning-section", "curve-base-section")
    for place, (name, language) in enumerate(zip(names, ("en", "zh", "en", "zh"), strict=True)):

        def view(*of: Comparison, place: int = place, language: str = language) -> str:
            return standalone([*pictures(*of)][place], language)

        agrees(SAID.with_name(f"{name}.svg"), view, comparison, several)


def ticks_of(chart: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*>([^<]*)<', chart)


def differences(
    comparison: Comparison, mean: float, half: float | None, verdict: Verdict, min_gain: float = 0.01
) -> str:
    """The figure of one answer; without an interval where `half` is None."""
    task = comparison.tasks[0]
    answer = answered(task, "domain_text", mean, half, verdict)
    figures = of_task(replace(task, answers=[answer]), replace(comparison, min_gain=min_gain))
    return figures["differences"].__html__()


@pytest.mark.parametrize(
    ("mean", "half", "ticks"),
    [
        (0.00575, 0.00475, ["−0.25", "0", "+0.25", "+0.5", "+0.75", "+1", "+1.25"]),
        *((mean, None, ["−1", "−0.5", "0", "+0.5", "+1"]) for mean in (0.0, 0.003, -0.003)),
    ],
)
def test_an_axis_of_differences_has_the_digits_of_its_step_and_is_symmetric_where_they_are_hardly_any(
    comparison: Comparison, mean: float, half: float | None, ticks: list[str]
) -> None:
    assert ticks_of(differences(comparison, mean, half, "not_tested")) == ticks


@pytest.mark.parametrize(("min_gain", "lines"), [(0.01, 2), (0.025, 1), (0.2, 0)])
def test_the_smallest_gain_worth_having_is_a_line_to_both_sides_where_the_axis_reaches_it(
    comparison: Comparison, min_gain: float, lines: int
) -> None:
    assert differences(comparison, 0.02, 0.025, "gain", min_gain).count('class="min-gain"') == lines


def test_nothing_but_a_gain_has_the_colour_of_one_and_what_has_a_verdict_has_a_band(comparison: Comparison) -> None:
    for verdict in get_args(Verdict):
        chart = differences(comparison, 0.02, 0.01, verdict)
        assert f"whisker verdict-{verdict}" in chart
        assert f"mean verdict-{verdict}" in chart
        assert ('class="unseen"' in chart) == (verdict != "not_tested")
    css = chart_style() + files("adaptbert.report").joinpath("page.css").read_text("utf-8")
    coloured: dict[str, set[str]] = {"--good": set(), "--bad": set()}
    for names, style in re.findall(r"([^{}]+){([^{}]*)}", css):
        for colour, verdicts in coloured.items():
            if colour in style:
                verdicts.update(re.findall(r"verdict-(\w+)", names))
    assert coloured == {"--good": {"gain"}, "--bad": {"loss"}}


def test_no_two_ticks_of_an_axis_are_written_alike(comparison: Comparison) -> None:
    """Text that a short run hardly changed: the axis is a ten-thousandth of a bit long."""
    first = comparison.checkpoints[1]
    curve = [(0, {"general": 10.43210}), (800_000, {"general": 10.43201})]
    short = replace(first, replicates=[replace(first.first, curve=curve)])
    (figure,) = bits_per_char(replace(comparison, checkpoints=[short], heldout=["general"]))
    ticks = ticks_of(figure.__html__())
    assert len(ticks) == len(set(ticks)) > 4


def titles_captions_and_legends(comparison: Comparison, several: Comparison) -> str:
    """Words of every figure, and of each of which a part is missing."""
    task = comparison.tasks[0]
    answer = answered(task, "task_transfer", -0.004, 0.02, "undecided", 0.4)
    answers = [answer, replace(answer, verdict="not_tested"), replace(answer, difference=None)]
    fewer = [replace(task, answers=[each], baselines={}, inspection=None) for each in answers]
    figures = [*all_figures(comparison), *all_figures(replace(several, tasks=several.tasks[:1]))]
    figures += [figure for each in fewer for figure in of_task(each, comparison).values()]
    said = [
        f"## {each.of} {each.name}: {each.title.en}, {each.title.zh}\n{each.caption.en}\n{each.caption.zh}\n"
        + "".join(f"- {name}: {css}\n" for name, css in each.legend.items())
        for each in figures
    ]
    return "\n".join(said)


def test_titles_captions_and_legends_say_what_is_shown(comparison: Comparison, several: Comparison) -> None:
    agrees(SAID, titles_captions_and_legends, comparison, several)


@pytest.fixture(scope="module")
def folder(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports") / "figures"
    write_figures(all_figures(comparison), folder)
    return folder


def test_every_figure_of_the_page_has_its_files(comparison: Comparison, folder: Path) -> None:
    page = render(comparison)
    shown = [name for name in re.findall(r'<figure[^>]* aria-labelledby="([^"]+)"', page) if "confusion" not in name]
    assert len(shown) == len(set(shown)) == 2 * 2 + 4
    assert set(re.findall(r'<svg class="chart" role="img" aria-labelledby="([^"]+)"', page)) == set(shown)
    assert {path.name for path in folder.iterdir()} == {f"{name}{end}" for name in shown for end in (".svg", ".zh.svg")}
    assert set(re.findall(r'href="figures/([^"]+)"', page)) == {path.name for path in folder.iterdir()}


def test_a_file_needs_nothing_but_itself_and_has_the_colours_of_the_light_page(folder: Path) -> None:
    for path in folder.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert not re.search(r"(?:href|src|var\(|url\()", text), "variables are not known outside of browsers"
        written = " ".join(each.text or "" for each in root.iter() if each.tag in (f"{SVG}text", f"{SVG}tspan"))
        assert bool(CHINESE.search(written)) is path.name.endswith(".zh.svg"), path.name
        assert (known(root.find(f"{SVG}title")).text or "") in written
    assert "\n.role-domain { color: #0f8478; }" in plain_style()
    assert plain_style().count("\n.role-") == len(ROLES) + 1


def test_plots_have_every_run_and_every_point(several: Comparison, tmp_path: Path) -> None:
    task = several.tasks[0]
    confusion = Confusion(["O", "=1+1"], {"O": {"O": 5.0}, "=1+1": {"O": 1.6, "=1+1": 2.0}})
    spoilt = replace(task, inspection=replace(known(task.inspection), confusion=confusion))
    write_plots(replace(several, tasks=[spoilt, *several.tasks[1:]]), tmp_path / "plots")

    def rows(name: str) -> list[list[str]]:
        with (tmp_path / "plots" / name).open(newline="") as file:
            return list(csv.reader(file))

    tasks = [each for each in several.tasks if each.task == "section"]
    assert rows("scores/section.csv") == [
        ["task", "base", "arm", "replicate", "seed", "score"],
        *(
            ["section", each.base, arm.name, str(run.replicate), str(run.seed), str(run.score)]
            for each in tasks
            for arm in each.arms
            for run in arm.runs
        ),
    ]
    header, *learned = rows("learning_curve/section.csv")
    assert header == ["base", "arm", "labels", "seed", "score"]
    assert len(learned) == sum(len(arm.scores) for each in tasks for arm in each.arms), "one point an arm"
    header, *bits = rows("bits_per_char/domain.csv")
    assert header == ["base", "replicate", "checkpoint", "tokens", "bits_per_char"]
    assert ["small", "2", "domain_transfer/domain-small", "2800000", "2.47"] in bits
    answers = rows(f"confusion/{task.anchor}.csv")
    assert answers == [["actual", "predicted"], *[["'=1+1", "O"]] * 2, *[["'=1+1", "'=1+1"]] * 2]


@pytest.mark.parametrize(
    ("template", "name"), [("seeds", "scores"), ("learning", "learning_curve"), ("checkpoints", "bits_per_char")]
)
def test_a_template_of_dvc_plots_names_columns_of_its_file(template: str, name: str) -> None:
    text = Path(f".dvc/plots/{template}.json").read_text(encoding="utf-8")
    made = re.findall(r'"as": "(\w+)"', text)
    (path, *_) = Path(f"reports/plots/{name}").glob("*.csv")
    header = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    assert {*re.findall(r'"field": "(\w+)"', text)} - {*made, "rev"} <= {*header}, "DVC adds rev itself"
    assert re.search(
        rf"- reports/plots/{name}:.*\n(?:.*\n)*?      template: {template}\n", Path("dvc.yaml").read_text("utf-8")
    )
