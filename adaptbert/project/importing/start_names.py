"""The name of a start, made from that of its model."""

from adaptbert.base.ladder import is_name, plain

_MOST = 40
_OTHERWISE = "public"


def of_model(model: str) -> str:
    """`google-bert/bert-base-chinese`, or a folder of that name -> `bert_base_chinese`.

    `public` where nothing of the name can be that of a start.
    """
    name = plain(model.rstrip("/").rpartition("/")[2]).lstrip("0123456789_")[:_MOST].rstrip("_")
    return name if is_name(name) else _OTHERWISE
