"""adaptbert: which steps of domain adaptation pay on your text, what they cost, and whether to trust the answer."""
