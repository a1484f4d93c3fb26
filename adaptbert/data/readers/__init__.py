"""One file for each format that users have: rows of it, with their place for messages."""
