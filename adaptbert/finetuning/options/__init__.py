"""Options of fine-tuning, each with what it does."""
