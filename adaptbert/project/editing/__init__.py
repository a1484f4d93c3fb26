"""Commands that change params.yaml: its text entry by entry, plan.json with it, and what runs then."""
