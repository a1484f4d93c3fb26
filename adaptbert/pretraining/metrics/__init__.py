"""What is said of a rung in numbers: measures of held-out text, the audit of its masks, and the record of both."""
