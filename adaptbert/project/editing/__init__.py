"""Commands that change params.yaml: its text entry by entry, ladder.yaml with it, and what runs then."""
