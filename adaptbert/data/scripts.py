"""Scripts written without spaces between words, as ranges for a regular expression's class. Korean has spaces.

Each user selects its own ranges: characters that are words by themselves (readers), characters by which answers are
compared (metrics). For what BERT's tokenizer separates, see adaptbert.text.words.
"""

THAI_LAO = "\u0e00-\u0eff"
MYANMAR_KHMER = "\u1000-\u109f\u1780-\u17ff"
KANA = "\u3040-\u30ff"
CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
