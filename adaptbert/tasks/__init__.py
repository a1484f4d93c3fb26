"""Fine-tuning: task types, their examples, heads and losses, and the runs of a task over its seeds."""
