"""Text like that of Weibo, made from frames and word lists; nobody wrote it. A function of its arguments."""

import random
from functools import cache

from adaptbert.config.schema.text import Vocabulary
from adaptbert.text.tokenizer import Tokenizer

WHO = ["我", "我们", "他们", "朋友", "老师", "大家", "同学们", "妈妈"]
WHEN = ["今天", "昨天晚上", "周末", "早上", "刚刚", "2019年", "12点"]
DID = ["去了北京大学", "看电影", "吃火锅", "听音乐", "准备考试", "学习英语", "买了手机", "playing games", "坐飞机"]
FELT = ["真的很开心", "觉得特别难过", "太好笑了", "非常感动", "有点无聊", "哈哈哈", "累死了", "very happy"]
ENDS = ["！", "。", "？", "……", "[可怜]", "[哈哈]", "🙂", " @用户", " #北京#", "~", " café", "にほんご"]


def posts(count: int) -> list[str]:
    """Posts of one to four clauses."""
    dice = random.Random(0)
    return ["，".join(_clause(dice) for _ in range(dice.randint(1, 4))) + dice.choice(ENDS) for _ in range(count)]


def _clause(dice: random.Random) -> str:
    parts = [dice.choice(WHO), dice.choice(WHEN), dice.choice(DID), dice.choice(FELT)]
    return "".join(part for part in parts if dice.random() < 0.7) or dice.choice(FELT)


@cache
def tokenizer(more: str = "") -> Tokenizer:
    """A vocabulary of these posts, and of further characters."""
    texts = [*posts(400), f"cafe cafe {more} {more}"]
    return Tokenizer.train(lambda: texts, Vocabulary(vocabulary_size=260, lowercase=True, min_frequency=1))
