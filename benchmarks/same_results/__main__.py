"""The command; see the package."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks import same_results
from benchmarks.machine import keep
from benchmarks.same_results import comparing, record


def main() -> int:
    """0 if everything that nobody excused is the same."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.same_results",
        description=same_results.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", help="a commit, a branch or a tag")
    parser.add_argument("new", help="another one; what is not committed is not run")
    parser.add_argument("--work", type=Path, help="keeps the record of each commit for the next time")
    parser.add_argument("--again", action="store_true", help="run NEW also if --work has its record")
    parser.add_argument("--table", type=Path, default=comparing.NAMES, help="of names; default: names.yaml")
    parser.add_argument("--no-table", action="store_true", help="nothing may differ")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/same_results.json if all is the same"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        try:
            entries = comparing.table(options.table)
            shas = [record.commit(revision) for revision in (options.old, options.new)]
            if options.no_table or shas[0] == shas[1]:
                entries = []
            if record.is_dirty():
                print("what is not committed here is not run")
            old = record.record(shas[0], work)
            new = record.record(shas[1], work, again=options.again)
        except (record.Failed, comparing.BadTable) as error:
            sys.exit(f"error: {error}")
    result = comparing.compared(old["values"], new["values"], entries)
    print(*result.lines(), sep="\n")
    if not result.is_same:
        print("\nnot the same")
        return 1
    total = sum(result.counts.values(), Counter[str]())
    if options.keep:
        kinds = {kind: dict(sorted(counts.items())) for kind, counts in result.counts.items()}
        table = [
            {"section": each.section, "pattern": each.pattern, "values": each.values, "why": each.why}
            for each in entries
        ]
        values = {"old": shas[0], "new": shas[1], "seconds": new["seconds"], "kinds": kinds, "table": table}
        keep("same_results", values)
    print(f"\nthe same: {total['equal'] + total['mapped']:,} of {total['compared']:,} values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
