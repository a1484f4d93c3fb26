"""Builds vocabularies and tokenized corpora: WordPiece training and extension, word boundaries."""
