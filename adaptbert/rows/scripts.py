"""Scripts that set no spaces between words, as ranges of a regular expression's class. Korean sets them.

Each use has a choice of its own: which characters are words by themselves (readers), by which characters answers are
compared (metrics). What BERT's tokenizer separates stands beside it: adaptbert.pretraining.token_classes.
"""

THAI_LAO = "\u0e00-\u0eff"
MYANMAR_KHMER = "\u1000-\u109f\u1780-\u17ff"
KANA = "\u3040-\u30ff"
CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
