"""Every type of encoder of transformers, packed as it is proven, gives what its class gives for each document alone.

Scores, loss and gradients in float32, for masked-language modelling and for the heads of four types of task. Another
way than the expected one fails, and so does a proof that overlooks what is wrong (sabotages).
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers.modeling_utils import AttentionInterface
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from adaptbert.errors import BadData
from adaptbert.model import proof, stock
from adaptbert.model.classes import Head
from adaptbert.model.encoder import Tokens, encode, token_scores, way_of
from adaptbert.model.packing import Rows, pack
from adaptbert.model.proof import prepare
from adaptbert.tasks.batches import batch_of
from adaptbert.tasks.examples import Examples, gather
from tests.support import tiny_tasks
from tests.support.encoders import CASES, LEFT_OUT, NAMED, Case

LENGTHS = (11, 9, 40, 10, 23, 64)
"""Tokens of the documents: some of about one length, some longer than every window."""
BLOCK = 160
"""All of them in one row, of more tokens than a model has positions."""
SCORES, GRADIENTS = 5e-5, 5e-5
"""Most that is allowed between ours and the class of transformers, as shares of the largest value of all."""
TASKS = ("single_sentence", "sentence_pair", "sequence_labelling", "extractive_answer")
RUN = [case for case in CASES if case.way != "refused"]
REFUSED = [case for case in CASES if case.way == "refused"]
OF_EACH_WAY = [NAMED[name] for name in ("roberta", "modernbert", "deberta-v2, as v3", "rembert", "longformer")]


def documents(case: Case, config: Any) -> list[Tensor]:
    """Random ids `[CLS] a [SEP] [SEP] b [SEP]`, a mask in each, no padding elsewhere."""
    draw, mask = torch.Generator().manual_seed(1), case.tokenizer().mask_token_id
    first, last = config.cls_token_id, config.sep_token_id
    allowed = torch.tensor(
        [each for each in range(config.vocab_size) if each not in (first, last, config.pad_token_id)]
    )
    texts = []
    for length in LENGTHS:
        ids = allowed[torch.randint(len(allowed), (length,), generator=draw)]
        ids[[0, 3, 4, -1]] = torch.tensor([first, last, last, last])
        ids[1] = mask
        texts.append(ids)
    return texts


def segments(config: Any, length: int) -> Tensor | None:
    """The second text of a pair begins at the fifth token; None where the type knows no segments."""
    return (torch.arange(length) >= 4).long() if getattr(config, "type_vocab_size", 0) > 1 else None


def alone(model: Any, texts: list[Tensor], *, as_pairs: bool, **more: list[Tensor]) -> list[Any]:
    """What the class gives for each document by itself."""
    outputs = []
    for number, ids in enumerate(texts):
        inputs = {name: values[number][None] for name, values in more.items()}
        if as_pairs and (kinds := segments(model.config, len(ids))) is not None:
            inputs["token_type_ids"] = kinds[None]
        outputs.append(model(input_ids=ids[None], **inputs))
    return outputs


def twice(case: Case, head: Head, **more: Any) -> tuple[Any, Any]:
    """A model that is prepared to be packed, and the same as transformers leaves it; the way is the expected one."""
    usual = case.model(head, **more)
    ours = deepcopy(usual)
    prepare(ours)
    assert way_of(ours.base_model) == case.way
    return ours, usual


def agree(ours: Any, usual: Any, scores: Tensor, due: Tensor, loss: Tensor, expected: Tensor) -> None:
    """Scores, loss and gradients are equal but for rounding, and the same weights have a gradient."""
    assert scores.shape == due.shape
    assert (scores - due).abs().max() <= SCORES * due.abs().max()
    assert loss.item() == pytest.approx(expected.item(), rel=SCORES)
    loss.backward()
    expected.backward()
    mine, theirs = (
        {name: each.grad for name, each in model.named_parameters() if each.grad is not None} for model in (ours, usual)
    )
    assert {name for name in mine.keys() ^ theirs.keys() if (mine | theirs)[name].any()} == set()
    most = max(float(gradient.abs().max()) for gradient in theirs.values())
    assert most > 0
    apart = {name: float((mine[name] - theirs[name]).abs().max()) / most for name in mine.keys() & theirs.keys()}
    assert {name: share for name, share in apart.items() if share > GRADIENTS} == {}


@pytest.mark.parametrize("case", RUN, ids=str)
def test_masked_lm(case: Case) -> None:
    ours, usual = twice(case, "masked_lm")
    texts = documents(case, usual.config)
    ids, rows = torch.cat(texts), pack(np.array(LENGTHS), BLOCK)
    chosen = torch.arange(2, len(ids), 5)
    due = torch.cat([output.logits[0] for output in alone(usual, texts, as_pairs=False)])
    scores = token_scores(ours, encode(ours.base_model, rows, Tokens(ids), chosen))
    losses = (functional.cross_entropy(each, ids[chosen]) for each in (scores, due[chosen]))
    agree(ours, usual, scores, due[chosen], *losses)


@pytest.mark.parametrize("case", [case for case in RUN if case.way != "padded"], ids=str)
def test_causal(case: Case) -> None:
    """A token has the same vector whether its document goes on or not, and another one if a token before it differs."""
    ours, usual = twice(case, "masked_lm")
    texts, length = documents(case, usual.config), min(LENGTHS)
    begun = [ids[:length] for ids in texts]
    first = torch.tensor([sum(LENGTHS[:number]) for number in range(len(LENGTHS))])
    inside = (first[:, None] + torch.arange(length)).flatten()

    def vectors(texts: list[Tensor]) -> Tensor:
        rows = pack(np.array([*map(len, texts)]), BLOCK)
        return encode(ours.base_model, rows, Tokens(torch.cat(texts)), causal=True)

    whole, short = vectors(texts)[inside], vectors(begun)
    assert (whole - short).abs().max() <= SCORES * whole.abs().max()
    changed = vectors([torch.cat([ids[:5], ids[6:7], ids[6:]]) for ids in begun])
    same = (changed - short).abs().amax(-1).view(-1, length) <= SCORES * short.abs().max()
    assert same[:, :5].all()
    assert not same[:, 6:].any()


def labelled(task: str, config: Any, texts: list[Tensor]) -> tuple[Examples, dict[str, list[Tensor]], list[int]]:
    """Examples of a task, the labels as the class takes them, and how many of them each document has."""
    kinds = [segments(config, len(ids)) for ids in texts] if task in ("sentence_pair", "extractive_answer") else [None]
    of_pairs = None if kinds[0] is None else [of_text.numpy() for of_text in kinds if of_text is not None]
    every, count = [ids.tolist() for ids in texts], len(texts)
    if task in ("single_sentence", "sentence_pair"):
        labels = torch.arange(count) % 2
        examples = gather(every, [[0]] * count, [[(0, 0)]] * count, range(count), 0, of_pairs)
        return examples.labelled(labels.numpy()), {"labels": list(labels[:, None])}, [1] * count
    places = [list(range(4, len(ids), 3 if task == "sequence_labelling" else 1)) for ids in texts]
    if task == "sequence_labelling":
        tags = [torch.tensor(own) % 3 for own in places]
        labels = [
            torch.full_like(ids, -100).index_copy(0, torch.tensor(own), tag)
            for ids, own, tag in zip(texts, places, tags, strict=True)
        ]
        examples = gather(every, places, [[(at, at + 1) for at in own] for own in places], range(count), 0)
        return examples.labelled(torch.cat(tags).numpy()), {"labels": labels}, [len(own) for own in places]
    places = [list(range(len(ids))) for ids in texts]
    ends = [(len(ids) // 2, len(ids) - 2) for ids in texts]
    targets = np.zeros((sum(LENGTHS), 2), np.float32)
    for side in (0, 1):
        targets[np.cumsum((0, *LENGTHS[:-1])) + [end[side] for end in ends], side] = 1
    examples = gather(every, places, [[(at, at + 1) for at in own] for own in places], range(count), 0, of_pairs)
    names = ("start_positions", "end_positions")
    more = {name: [torch.tensor([end[side]]) for end in ends] for side, name in enumerate(names)}
    return examples.labelled(targets), more, [1] * count


def scores_of(output: Any) -> Tensor:
    if "start_logits" in output:
        return torch.stack([output.start_logits[0], output.end_logits[0]], -1)
    return output.logits[0] if output.logits.dim() == 3 else output.logits


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("case", RUN, ids=str)
def test_the_head_of_a_task(case: Case, task: str) -> None:
    """Loss and scores are those of the class, whatever it pools."""
    head = tiny_tasks.head_of(task)
    if head.head in case.lacks:
        with pytest.raises(BadData):
            prepare(case.model(head.head, **head.config()))
    if why := case.lacking(head.head):
        pytest.skip(why)
    ours, usual = twice(case, head.head, **head.config())
    texts = documents(case, usual.config)
    examples, labels, counts = labelled(task, usual.config, texts)
    outputs = alone(usual, texts, as_pairs=examples.segments is not None, **labels)
    places = examples.flat_places() if head.head != "sequence" else np.arange(len(texts))
    due = torch.cat([scores_of(output) for output in outputs])[torch.from_numpy(places)]
    batch = batch_of(examples, BLOCK)
    scores = head.logits(ours, batch)
    expected = sum(output.loss * count for output, count in zip(outputs, counts, strict=True)) / sum(counts)
    agree(ours, usual, scores, due, head.loss(scores, batch), expected)


def scores_and_gradients(model: Any, texts: list[Tensor], block: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Of masked-language modelling, at all tokens; the gradients of the embeddings of tokens."""
    torch.manual_seed(seed)
    ids, rows = torch.cat(texts), pack(np.array([len(text) for text in texts]), block)
    scores = token_scores(model, encode(model.base_model, rows, Tokens(ids))).float()
    table = model.get_input_embeddings().weight
    (gradient,) = torch.autograd.grad(functional.cross_entropy(scores, ids), table)
    return scores.detach(), gradient


@pytest.mark.parametrize("case", OF_EACH_WAY, ids=str)
def test_it_stays_a_model_of_transformers(case: Case) -> None:
    """Who calls it as such, as notebooks do, gets what the class gives, before and after packed documents."""
    ours, usual = twice(case, "masked_lm")
    ids = documents(case, usual.config)[0].repeat(2, 1)
    mask = torch.ones_like(ids).index_fill(1, torch.arange(7, ids.shape[1]), 0)
    mask[0] = 1
    for model in (ours.base_model, ours):
        due = (usual.base_model if model is ours.base_model else usual)(input_ids=ids, attention_mask=mask)[0]
        encode(ours.base_model, pack(np.array([4]), BLOCK), Tokens(ids[0, :4]))
        assert torch.equal(model(input_ids=ids, attention_mask=mask)[0], due)


@pytest.mark.parametrize("case", OF_EACH_WAY[:3], ids=str)
def test_dropout_is_a_function_of_the_seed(case: Case) -> None:
    """Of hidden states and of attention; none in evaluation."""
    rates = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    for name in ("mlp_dropout", "attention_dropout") if case.kind == "modernbert" else rates:
        model = case.model(**{name: 0.3})
        prepare(model)
        texts = documents(case, model.config)
        first, again, other = (scores_and_gradients(model, texts, BLOCK, seed) for seed in (1, 1, 2))
        assert all(torch.equal(*pair) for pair in zip(first, again, strict=True)), name
        assert not torch.equal(first[0], other[0]), name
        model.eval()
        first, other = (scores_and_gradients(model, texts, BLOCK, seed) for seed in (1, 2))
        assert torch.equal(first[0], other[0]), name


@pytest.mark.parametrize("kind", ["roberta", "modernbert", "eurobert"])
def test_long_documents(kind: str) -> None:
    """Longer than the rows whose scores of attention are all kept."""
    case = NAMED[kind]
    ours, usual = twice(case, "masked_lm", max_position_embeddings=1100)
    texts = [
        text.repeat(-(-length // len(text)))[:length]
        for text, length in zip(documents(case, usual.config), (700, 90, 600), strict=False)
    ]
    due = torch.cat([output.logits[0] for output in alone(usual, texts, as_pairs=False)])
    expected = torch.autograd.grad(
        functional.cross_entropy(due, torch.cat(texts)), usual.get_input_embeddings().weight
    )[0]
    scores, gradient = scores_and_gradients(ours, texts, 1024)
    assert (scores - due).abs().max() <= SCORES * due.abs().max()
    assert (gradient - expected).abs().max() <= GRADIENTS * expected.abs().max()


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case not in OF_EACH_WAY)) for case in RUN], ids=str
)
def test_in_bfloat16(case: Case) -> None:
    """As near to float32 as the class alone is; the gradients of float32 weights are float32."""
    ours, usual = twice(case, "masked_lm")
    texts = documents(case, usual.config)
    exact, _ = scores_and_gradients(ours, texts, BLOCK)
    with torch.autocast("cpu", torch.bfloat16):
        scores, gradient = scores_and_gradients(ours, texts, BLOCK)
        if case.float32:
            assert not ours.base_model.takes_bfloat16, "it computes in float32"
            with pytest.raises(RuntimeError):
                alone(usual, texts, as_pairs=False)
            assert 0 < (scores - exact).abs().max() < 0.05 * exact.abs().max(), "the head is rounded"
            return
        theirs = torch.cat([output.logits[0] for output in alone(usual, texts, as_pairs=False)]).float()
    assert gradient.dtype == torch.float32
    apart, usual_apart = ((each - exact).square().mean().sqrt().item() for each in (scores, theirs))
    assert 0 < apart < 1.5 * usual_apart


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_padding_changes_is_refused(case: Case) -> None:
    with pytest.raises(BadData, match="other outputs together than alone"):
        prepare(case.model())


@pytest.mark.parametrize(
    "case",
    [
        Case("ernie", "packed", {"use_task_id": False}, "bert"),
        Case("electra", "packed", {"embedding_size": 32}, "bert"),
        Case("roberta", "packed", rules="bert"),
        Case("layoutlm", "packed", rules="bert"),
    ],
    ids=str,
)
def test_the_weights_of_a_bert_in_the_layout_of_another_type(case: Case) -> None:
    """Two ways, packed and our own, of the same function: equal vectors, for pairs too."""
    bert, other = NAMED["bert"].model("none").eval(), case.model("none").eval()
    weights = bert.state_dict()
    if case.kind == "roberta":  # its positions begin behind that of the padding
        name = "embeddings.position_embeddings.weight"
        weights[name] = torch.cat([weights[name][:1], weights[name]])[: len(weights[name])]
    fresh = {name: torch.zeros_like(each) for name, each in other.state_dict().items() if "position" in name}
    other.load_state_dict(fresh | {name: each for name, each in weights.items() if name in other.state_dict()})
    prepare(other)
    assert (way_of(bert), way_of(other)) == ("own", "packed")
    texts = documents(case, other.config)
    kinds = torch.cat([(torch.arange(len(ids)) >= 4).long() for ids in texts])
    tokens, rows = Tokens(torch.cat(texts), kinds), pack(np.array(LENGTHS), BLOCK)
    ours, theirs = (encode(model, rows, tokens).detach() for model in (bert, other))
    assert (ours - theirs).abs().max() <= SCORES * ours.abs().max()


# ---- sabotages: what is wrong on purpose; the proof takes the next way that is right


def at_the_wrong_row(patch: pytest.MonkeyPatch) -> None:
    """Positions from 0, where those of the type begin behind that of the padding."""
    patch.setattr(stock, "first_position", lambda encoder: 0)


def without_bounds(patch: pytest.MonkeyPatch) -> None:
    """All documents of a row see each other."""
    patch.setattr(proof, "pack", lambda *given: relabelled(pack(*given), lambda all_: np.minimum(all_, 0)))


def shifted(patch: pytest.MonkeyPatch) -> None:
    """The first token of each document belongs to the one before it."""
    patch.setattr(proof, "pack", lambda *given: relabelled(pack(*given), lambda all_: np.roll(all_, 1, axis=1)))


def relabelled(rows: Rows, change: Callable[[Any], Any]) -> Rows:
    return replace(rows, documents=change(rows.documents))


def wider(patch: pytest.MonkeyPatch) -> None:
    """A window that reaches one token too far on either side."""
    other_window(patch, 1)


def narrower(patch: pytest.MonkeyPatch) -> None:
    other_window(patch, -1)


def other_window(patch: pytest.MonkeyPatch, more: int) -> None:
    registered, right = AttentionInterface._global_mapping, stock._attend

    def wrong(*given: Any, sliding_window: int | None = None, **named: Any) -> Any:
        return right(*given, sliding_window=None if sliding_window is None else sliding_window + more, **named)

    patch.setitem(registered, stock.ATTENTION, wrong)


def not_called(patch: pytest.MonkeyPatch) -> None:
    """The name of the attention is taken, and another one runs."""
    patch.setattr(stock, "ATTENTION", "sdpa")


SABOTAGES = [
    *product(["roberta", "xlm-roberta"], [at_the_wrong_row], ["padded"]),
    *product(["roberta", "modernbert", "deberta-v2, as v3", "rembert"], [without_bounds, shifted], ["padded"]),
    *product(["modernbert", "ultrabert"], [wider, narrower], ["padded"]),
    *product(["roberta", "electra"], [not_called], ["masked_4d"]),
    ("modernbert", not_called, "padded"),
]


@pytest.mark.parametrize(("name", "sabotage", "way"), SABOTAGES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_a_sabotage_is_noticed(
    name: str, sabotage: Callable[[pytest.MonkeyPatch], None], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With weights as transformers initialises them, where differences are small."""
    model = NAMED[name].model(spread=0.02)
    assert proof.prove(model) == NAMED[name].way
    sabotage(monkeypatch)
    assert proof.prove(model) == way


def test_a_layer_that_does_not_call_the_attention_is_noticed() -> None:
    """Although its output is right: its values are 0, until they are trained."""
    model = NAMED["electra"].model()
    attention = model.electra.encoder.layer[1].attention.self
    attention.config = deepcopy(attention.config)  # the name is given to the config of the others
    with torch.no_grad():
        for parameter in attention.value.parameters():
            parameter.zero_()
    assert proof.prove(model) != "packed"


def test_the_table_has_every_type_of_transformers() -> None:
    kinds = {case.kind for case in CASES}
    assert kinds | LEFT_OUT.keys() == {*MODEL_FOR_MASKED_LM_MAPPING_NAMES}
    assert kinds & LEFT_OUT.keys() == set()
    assert len({str(case) for case in CASES}) == len(CASES)
