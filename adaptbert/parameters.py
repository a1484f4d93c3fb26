"""The former name of adaptbert.project.parameters_page, kept for one release, prints docs/parameters.md."""

import runpy
import sys

if __name__ == "__main__":
    print("note: this command is now `python -m adaptbert.project.parameters_page`", file=sys.stderr)
    runpy.run_module("adaptbert.project.parameters_page", run_name="__main__", alter_sys=True)
