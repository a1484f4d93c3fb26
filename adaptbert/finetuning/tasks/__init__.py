"""Task types: rows become tokens, a head sits on the encoder, and its outputs become answers."""
