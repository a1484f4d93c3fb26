"""One cell of the comparison: a task fine-tuned from a rung, with seeds, search and learning curve."""
