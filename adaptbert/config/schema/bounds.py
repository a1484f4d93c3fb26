"""The most that a value of params.yaml may be where it becomes an allocation or the length of a loop.

Each lies well above what anyone has trained with, and below what ends in minutes of silence or a killed process: a zero
too many is reported at once. What a machine can do is limited by its memory, not by these bounds.
"""

LAYERS = 96
"""The deepest language models of the Transformer kind have about as many; BERT has 12 or 24."""
HIDDEN = 16_384
"""Of a vector. The widest models have 12,288 to 16,384, BERT 768 or 1,024."""
INTERMEDIATE = 4 * HIDDEN
"""Four times that, as in BERT."""
HEADS = 1_024
PARAMETERS = 20_000_000_000
"""Of an encoder: 80 GB of float32 weights, before gradients and the two moments of the optimizer."""
POSITIONS = 8_192
"""Tokens of a document, of windows and of parts of it: 512 in BERT, 8,192 in its successors."""
BLOCK = 65_536
"""Tokens of a packed row; it is no longer than a micro-batch."""
BATCH_TOKENS = 16_777_216
"""Four times the largest batch of RoBERTa (8,192 sequences of 512)."""
BATCH_EXAMPLES = 65_536
"""The largest batch of LAMB (You et al. 2020)."""
VOCABULARY = 1_000_000
TOKENS = 100_000_000_000_000
"""Of a training budget. The largest corpora have some 10^13."""
STEPS = 100_000_000
"""At one a millisecond a day."""
PASSES = 10_000
EPOCHS = 1_000
RUNS = 100
"""Seeds of a task from one checkpoint, or of a trial, and replicates of a step."""
VALUES = 50
"""Of one dimension of a search, or points on a curve of label counts."""
TRIALS = 10_000
POINTS = 1_000
"""On a curve of held-out text; each is a pass over the held-out sets."""
HELD_OUT_TOKENS = 100_000_000
"""They are held in memory, with their masks."""
ROWS = 1_000_000_000
"""Of a set, and how often a word occurs."""
CHARACTERS = 100_000_000
"""Of a text; longer lines are not read."""
PATTERNS = 100
"""Regular expressions, each applied to every text."""
NAMES = 100
"""Starts, corpora, arms or tasks that a list names."""
