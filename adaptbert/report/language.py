"""Texts in both languages, English as it stands in the code and Chinese from the zh.po of its package, and numbers.

A message has named values in braces, so that a translation may put them in another order, and a value may have a
format of `FORMATS` or of Python: `t("{rows:,} rows, {low:points} to {high:points}", ...)`. A value that is a `Text`
itself is put in by language. The page has both languages, and its own selects the one that is shown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter

from markupsafe import Markup, escape

from adaptbert.core import english
from adaptbert.core.english import MINUS, amount, token_count


@dataclass(frozen=True)
class Text:
    """One text in English and Chinese."""

    en: str
    zh: str

    def __html__(self) -> str:
        if self.en == self.zh:
            return _code(self.en)
        return Markup('<span lang="en">{}</span><span lang="zh-Hans">{}</span>').format(_code(self.en), _code(self.zh))

    def __add__(self, other: "Text") -> "Text":
        """Two sentences; Chinese has no blank between them."""
        return Text(f"{self.en} {other.en}".strip(), f"{self.zh}{other.zh}")

    def mapped(self, change: Callable[[str], str]) -> "Text":
        return Text(change(self.en), change(self.zh))


EMPTY = Text("", "")


@dataclass(frozen=True)
class Messages:
    """The messages of a package, with their Chinese from the zh.po in its folder."""

    package: str

    def __call__(self, message: str, **values: object) -> Text:
        """A message with its values.

        Raises:
            KeyError: it has no translation, or no such value.
        """
        languages = {"en": message, "zh": _translations(self.package)[message]}
        return Text(*(_Numbers(language).vformat(text, (), values) for language, text in languages.items()))


t = Messages("adaptbert.report")


class _Numbers(Formatter):
    def __init__(self, language: str) -> None:
        self._language = language

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, Text):
            return str(getattr(value, self._language))
        return FORMATS[format_spec](value) if format_spec in FORMATS else format(value, format_spec)


@cache
def _translations(package: str) -> dict[str, str]:
    """English -> Chinese."""
    from babel.messages.pofile import read_po

    with files(package).joinpath("zh.po").open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale="zh")}


def same(text: str) -> Text:
    """A name that is not translated."""
    return Text(text, text)


def joined(items: Sequence[Text], en: str = ", ", zh: str = "、") -> Text:
    """Texts side by side, with what stands between them in each language."""
    return Text(en.join(item.en for item in items), zh.join(item.zh for item in items))


def listed(items: Sequence[Text | str]) -> Text:
    """`a, b and c`."""
    texts = [same(item) if isinstance(item, str) else item for item in items]
    if len(texts) < 2:
        return texts[0] if texts else EMPTY
    before, last = joined(texts[:-1]), texts[-1]
    # Between Latin letters and Chinese characters there is a blank.
    and_ = " " * before.zh[-1].isascii() + "和" + " " * last.zh[0].isascii()
    return Text(english.listed([text.en for text in texts]), f"{before.zh}{and_}{last.zh}")


def ends(interval: object) -> Text:
    """An interval of differences, by its ends."""
    return t("{it.low:change} to {it.high:change}", it=interval)


def within(name: Text) -> Text:
    """A name inside a sentence."""
    return Text(name.en[0].lower() + name.en[1:], name.zh)


def _code(text: str) -> Markup:
    """Names between backticks are set as code; those that may run from right to left turn nothing around them."""
    code = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"<code>[^<]*[^\x00-\x7f][^<]*</code>", r"<bdi>\g<0></bdi>", code))


def quoted(name: str) -> str:
    """A name of the user's data between backticks."""
    plain = " ".join(name.replace("`", "'").split())
    return f"`{plain}`"


def number(value: float, places: int) -> str:
    """A number with the typographic minus, which is the only minus of the page; -0.0 becomes 0.0."""
    rounded = round(value, places)
    return f"{MINUS if rounded < 0 else ''}{abs(rounded):.{places}f}"


def plain(value: float, *, signed: bool = False) -> str:
    """A number with as many places as it has; those beyond ten digits come from the arithmetic."""
    return f"{'+' if signed and value > 0 else ''}{value + 0.0:.10g}".replace("-", MINUS)


def points(score: float) -> str:
    """A score times 100."""
    return number(100 * score, 1)


def limit(score: float) -> str:
    """A score that somebody has set, times 100; with all its places."""
    return points(score) if round(1000 * score, 6).is_integer() else plain(100 * score)


def change(difference: float) -> str:
    """A difference of scores times 100, with its sign."""
    return signed(100 * difference, 1)


def signed(difference: float, places: int) -> str:
    """A number with its sign; none where it rounds to 0."""
    return f"{'+' if round(difference, places) > 0 else ''}{number(difference, places)}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def whole_percent(share: float) -> str:
    """A share times 100, `<1` where it is smaller and not 0."""
    return "<1" if 0 < 100 * share < 1 else f"{100 * share:.0f}"


FORMATS: Mapping[str, Callable[..., str]] = {
    "points": points,
    "limit": limit,
    "change": change,
    "tokens": token_count,
    "percent": lambda share: f"{100 * share:g}",  # the level of an interval
    "hundred": lambda chance: str(min(99, max(1, round(100 * chance)))),  # neither none nor all of 100
    "amount": amount,
}
"""Formats of the values of a message."""
