"""Vocabularies and token arrays are made: training or extending WordPiece, word boundaries, corpora on disk."""
