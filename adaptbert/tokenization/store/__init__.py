"""What training reads: the tokenizer and memory-mapped token arrays."""
