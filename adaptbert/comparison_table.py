"""The former name of adaptbert.comparison.tables.text_table, kept for one release, prints the result table."""

import runpy
import sys

if __name__ == "__main__":
    print("note: this command is now `python -m adaptbert.comparison.tables.text_table`", file=sys.stderr)
    runpy.run_module("adaptbert.comparison.tables.text_table", run_name="__main__", alter_sys=True)
