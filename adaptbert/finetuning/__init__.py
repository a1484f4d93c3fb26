"""Fine-tunes one cell (a task and an arm) over its seeds, with search and learning curve."""
