"""What training reads: the tokenizer, and token arrays that are mapped into memory."""
