"""The encoder: BERT without padding, its optimizer and its checkpoint folder."""
