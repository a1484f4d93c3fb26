"""adaptbert plan and check, as a user calls them: params.yaml, plan.json, and the files that are named."""

import shutil
from pathlib import Path

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.planning import workload
from adaptbert.planning.rules import notices
from tests.support.checked_files import write_document
from tests.support.commands import DEMO, run
from tests.support.messages import messages_in


def test_check_tells_of_an_older_plan(project: Path) -> None:
    """A notice: `make recipe` and the flow write it first, and the first stage stops a plain `dvc repro`."""
    run("plan")
    assert "AB-210" not in run("check").stdout
    (project / "params.yaml").write_text(DEMO.replace("replicates: 2", "replicates: 3"), encoding="utf-8")
    done = run("check")
    notice = "notice: AB-210 plan.json: older than params.yaml: missing: domain_transfer@general-small-3, "
    assert (done.exit_code, done.stdout.count(notice)) == (0, 1)
    assert "run `adaptbert plan`" in done.stdout
    done = run("plan")
    designs = ("section, first question: ", "mention, first question: ")
    lines = [" ".join(line.split()) for line in done.output.splitlines() if not line.startswith(("notice: ", *designs))]
    assert sum(line.startswith(designs) for line in done.output.splitlines()) == 2
    assert (done.exit_code, lines) == (
        0,
        [
            "pretrain general small 1 x 600,000 tokens, 586 steps, about 501 passes",
            "domain_transfer general small 3 x 600,000 tokens, 586 steps, about 501 passes",
            "domain_transfer domain small 3 x 600,000 tokens, 586 steps, about 539 passes",
            "task_transfer section small 6 x 75,000 tokens, 73 steps, about 18 passes",
            "task_transfer mention small 6 x 75,000 tokens, 73 steps, about 15 passes",
            "finetune section small 14 x 3 seeds of 4 epochs",
            "finetune mention small 14 x 3 seeds of 4 epochs",
            "plan.json: 19 checkpoints and 28 fine-tunings, in the arms scratch, general, general_long, domain, task, "
            "domain_task",
        ],
    )
    assert "AB-210" not in run("check").stdout
    (project / "plan.json").unlink()
    assert "notice: AB-210 plan.json: the file is missing" in run("check").stdout


def test_check_reports_the_plan_last(project: Path) -> None:
    """`adaptbert plan` refuses the file as long as it has other errors."""
    bad = DEMO.replace("replicates: 2", "replicates: 3").replace("heads: 4", "heads: 3")
    (project / "params.yaml").write_text(bad, encoding="utf-8")
    for command in ("check", "plan"):
        done = run(command)
        assert (done.exit_code, "heads 3" in done.stderr, "AB-210" in done.stderr) == (78, True, False)


def test_check_prints_the_notices(project: Path) -> None:
    shutil.copy(project / "presets/smoke.yaml", project / "params.yaml")
    run("plan")
    done = run("check")
    *printed, last = [line for line in done.output.splitlines() if ", first question: " not in line]
    recipe = recipes.read()
    planned = workload.trainings(recipe, plan_file.expand(recipe), workload.Amounts(recipe))
    expected = [f"notice: {each}" for each in (*notices(recipe), *workload.notices(recipe, planned))]
    assert (done.exit_code, printed, len(printed)) == (0, expected, 7)
    assert "recipe cannot have a verdict here, because general pre-training is done once for each base" in printed[1]
    assert last.endswith("the rows read from its data files are valid")


def test_each_base_may_have_a_dictionary_of_its_own(project: Path) -> None:
    """A file that bases share is opened once."""
    (project / "bad.txt").write_text("word x\n", encoding="utf-8")
    document = params.read(project / "params.yaml")
    document["bases"] = dict.fromkeys(("small", "other", "third"), document["bases"]["small"])
    document["tokenize"] = {"words": {"segmenter": "rjieba", "dictionary": "bad.txt"}}
    document["overrides"] = {"third": {"tokenize": {"words": {"dictionary": "none.txt"}}}}
    write_document(document)
    assert [line.splitlines()[0] for line in messages_in(run("check").stderr)] == [
        "error: AB-050 params.yaml: overrides.third.tokenize.words.dictionary: none.txt: no such file",
        "AB-044 bad.txt:1: 2 parts, of which the second is a frequency if there is one",
    ]
