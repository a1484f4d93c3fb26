"""Linear models on terms: how they are fitted, how they answer rows, and the file that keeps one."""
