"""The encoder and its checkpoint: unpadded BERT, its optimizer, and the folder that it is saved in."""
