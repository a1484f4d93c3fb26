"""`adaptbert doctor`."""

import typer


def doctor() -> None:
    """Check if this machine can run the recipe.

    Checks versions, disk space, device and environment. The exit code is 1 if a check fails.
    """
    from rich.console import Console
    from rich.table import Table

    from adaptbert.project.doctor import Verdict, examine

    findings = list(examine())
    table = Table("", "what", "found", "remedy")
    for finding in findings:
        table.add_row(finding.verdict.value, finding.what, finding.observed, finding.remedy)
    Console().print(table)
    fails, warnings = (sum(each.verdict is verdict for each in findings) for verdict in (Verdict.FAIL, Verdict.WARN))
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} checks passed: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)
