"""Attention over documents of any length: the token layout of each device, and its attention operator.

Input: queries, keys and values at all layout positions, (positions, 3 * heads * size). Output: for each position the
weighted values of the tokens of its own document, (positions, heads * size). Scaled dot products of all heads (Vaswani
et al. 2017, section 3.2).

cpu     the layout is rows of one size, some positions are empty; a bias and two batched products: in bfloat16 several
        times faster than the fused operator
cuda    the layout is the flat tokens, no position is empty; torch's kernel for documents of any length (`varlen_attn`,
        FlashAttention-2; with dropout the operator below it, which has a rate)
either  rows and the fused operator with a mask, where that kernel cannot be used: it has no float32
"""

import torch
from torch import Tensor
from torch.nn import functional

from adaptbert.model.dropout import keep_mask, keep_scale
from adaptbert.model.packing import Rows

FAR = -1e4  # added to the scores between documents: their softmax weights are 0 in every type
FLASH_TYPES = (torch.bfloat16, torch.float16)
FLASH_CAPABILITY = (8, 0)


class Attention:
    """Attention within the documents of one batch; indices and masks are built once and shared by all layers.

    Args:
        rows: the packed layout of the tokens.
        device: of the tokens.
        heads: of every layer.
        size: of a head.
        dtype: of the products.
    """

    def __init__(self, rows: Rows, device: torch.device, heads: int, size: int, dtype: torch.dtype) -> None:
        self._device, self._heads = device, heads
        self._is_flat = flash_fits(device, dtype, size)
        if self._is_flat:
            self._bounds, self._longest = torch.as_tensor(rows.bounds, device=device), rows.longest
            return
        self._place = torch.as_tensor(rows.place, device=device)
        documents = torch.as_tensor(rows.documents, device=device)
        self._same = documents[:, :, None] == documents[:, None, :]
        """Which positions of a row may attend to which, (rows, block, block)."""
        if device.type == "cpu":
            bias = torch.zeros_like(self._same, dtype=dtype).masked_fill_(~self._same, FAR)
            self._bias = bias.repeat_interleave(heads, 0)
            """Numbers added to the scores of all heads, (rows * heads, block, block)."""

    def to_layout(self, values: Tensor) -> Tensor:
        """Values of the tokens, (tokens, ...), moved to their layout positions, (positions, ...); 0 at empty ones."""
        if self._is_flat:
            return values
        size = self._same.shape[0] * self._same.shape[1]
        return values.new_zeros(size, *values.shape[1:]).index_copy_(0, self._place, values)

    def layout_positions(self, tokens: Tensor | None) -> Tensor | None:
        """The layout positions of these tokens, or of all; None where these are all positions in their order."""
        if self._is_flat:
            return tokens
        return self._place if tokens is None else self._place[tokens]

    def attend(self, projected: Tensor, rate: float, selected: Tensor | None = None) -> Tensor:
        """Attention outputs.

        Args:
            projected: queries, keys and values of all heads, (positions, 3 * heads * size).
            rate: of dropout, of the weights.
            selected: the layout positions whose outputs are returned, (selected,); all if None.

        Returns:
            (selected or positions, heads * size).
        """
        size = projected.shape[1] // (3 * self._heads)
        if self._is_flat:
            mixed = self._flat(projected.view(-1, 3, self._heads, size), rate)
        else:
            parts = projected.view(*self._same.shape[:2], 3, self._heads, size).permute(2, 0, 3, 1, 4)
            operator = self._by_products if self._device.type == "cpu" else self._fused
            query, key, value = parts.unbind(0)
            mixed = operator(query, key, value, rate).transpose(1, 2).reshape(len(projected), -1)
        return mixed if selected is None else mixed.index_select(0, selected)

    def _flat(self, parts: Tensor, rate: float) -> Tensor:
        from torch.nn.attention.varlen import varlen_attn

        query, key, value = parts.unbind(1)
        bounds, longest = self._bounds, self._longest
        if rate:
            flash = torch.ops.aten._flash_attention_forward
            mixed, *_ = flash(query, key, value, bounds, bounds, longest, longest, rate, False, False)
        else:
            mixed = varlen_attn(query, key, value, bounds, bounds, longest, longest)
        assert isinstance(mixed, Tensor), "log-sum-exps were not requested"
        return mixed.reshape(len(parts), -1)

    def _by_products(self, query: Tensor, key: Tensor, value: Tensor, rate: float) -> Tensor:
        rows, heads, block, size = query.shape
        query, key, value = (part.reshape(rows * heads, block, size) for part in (query, key, value))
        scores = torch.baddbmm(self._bias, query, key.transpose(1, 2), alpha=size**-0.5)
        weights = torch.softmax(scores, -1)
        if rate:
            # The values are scaled, not the mask: there are fewer of them than weights.
            weights = weights * keep_mask(weights, rate)
            value = value * keep_scale(rate)
        return torch.bmm(weights, value).view(rows, heads, block, size)

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, rate: float) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, self._same[:, None], rate)


def flash_fits(device: torch.device, dtype: torch.dtype, size: int) -> bool:
    """Whether torch's kernel for flat documents can be used: an Ampere device or a later one."""
    return (
        device.type == "cuda"
        and dtype in FLASH_TYPES
        and size % 8 == 0
        and size <= 256
        and torch.cuda.get_device_capability(device) >= FLASH_CAPABILITY
    )
