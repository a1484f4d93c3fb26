"""The commands of `adaptbert`, each in a file that parses its options and prints what was done.

adaptbert.cli registers them. The work is done by adaptbert.project and adaptbert.prediction, imported when called.
"""
