"""The vectors a head reads are those of transformers' hidden states."""

from functools import partial

import torch
from transformers import BertModel

from adaptbert.finetuning.tasks.layer_mix import means
from adaptbert.finetuning.tasks.pooling import Pooling
from adaptbert.model.encoder import Tokens, encode
from tests.support import tiny, tiny_tasks
from tests.support.short_runs import first_batch


def test_vectors_are_those_of_the_hidden_states_of_transformers() -> None:
    """Last four, a mix with weights of its own, and the mean of all tokens, text by text through the stock model."""
    config = tiny.config()
    config.num_hidden_layers = 5
    torch.manual_seed(0)
    bert = BertModel(config).eval()
    mixed = torch.nn.Module()
    mixed.config = config
    Pooling("mix").extend(mixed)
    with torch.no_grad():
        mixed.layer_mix.weights.copy_(torch.randn(6))
        mixed.layer_mix.scale.fill_(1.5)
    shares = torch.softmax(mixed.layer_mix.weights.detach(), 0)
    batch = first_batch(tiny_tasks.shape_of("single_sentence"), "single_sentence")
    lengths = torch.as_tensor(batch.rows.bounds).diff()
    with torch.no_grad():
        hidden_states = [
            bert(ids[None], output_hidden_states=True).hidden_states for ids in batch.ids.split(lengths.tolist())
        ]
        last_four = encode(bert, batch.rows, Tokens(batch.ids), batch.places, mix=Pooling("last_four").mixer(mixed))
        mix = encode(bert, batch.rows, Tokens(batch.ids), mix=Pooling("mix").mixer(mixed))
        mean = means(encode(bert, batch.rows, Tokens(batch.ids)), lengths)
    close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-4)
    close(last_four, torch.stack([torch.stack(states[-4:]).mean(0)[0, 0] for states in hidden_states]))
    close(mix, torch.cat([1.5 * (shares[:, None, None] * torch.cat(states)).sum(0) for states in hidden_states]))
    close(mean, torch.stack([states[-1][0].mean(0) for states in hidden_states]))
