"""Options of fine-tuning, each with what it does to the loss or the weights."""
