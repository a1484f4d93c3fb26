"""Task types: each encodes rows as tokens, puts a head on the encoder and decodes its outputs."""
