"""Tasks by their shape: how examples become tokens, where the head looks, and how its answers are scored."""
