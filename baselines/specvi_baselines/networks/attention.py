"""A pre-norm transformer block. Its parts are named as in AstroCLIP's published weights."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class SelfAttention(nn.Module):
    """Multi-head self-attention over ``(n, tokens, width)``."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.attention = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, tokens: Tensor, seen: Tensor | None) -> Tensor:
        """Attend; ``seen`` ``(n, tokens)`` bool says which tokens may be attended to."""
        query, key, value = self._split(self.attention(tokens))
        allowed = None if seen is None else seen[:, None, None, :]
        # No dropout of the attention itself: with it, processors have no fast way to attend.
        mixed = functional.scaled_dot_product_attention(query, key, value, allowed)
        result: Tensor = self.projection(mixed.transpose(1, 2).flatten(2))
        return functional.dropout(result, self.dropout, self.training)

    def _split(self, found: Tensor) -> Tensor:
        """Return query, key and value, ``(3, n, heads, tokens, width / heads)``."""
        n, tokens, _ = found.shape
        return found.reshape(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)


class Mlp(nn.Module):
    """Two layers with GELU between."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = nn.Linear(width, hidden)
        self.decoder = nn.Linear(hidden, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return what is added to the tokens."""
        found = self.decoder(functional.gelu(self.encoder(tokens)))
        return functional.dropout(found, self.dropout, self.training)


class Block(nn.Module):
    """Attention, then the MLP, each on normalised tokens and added to them."""

    def __init__(self, width: int, heads: int, dropout: float, expansion: int = 4) -> None:
        super().__init__()
        self.layernorm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.layernorm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, expansion * width, dropout)

    def forward(self, tokens: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return the tokens, ``(n, tokens, width)``."""
        tokens = tokens + self.attention(self.layernorm1(tokens), seen)
        result: Tensor = tokens + self.mlp(self.layernorm2(tokens))
        return result


class TaskPooling(nn.Module):
    """One logit a task: a query learnt for each attends over tokens, and its own layer reads what it found."""

    def __init__(self, width: int, tasks: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(tasks, width) * width**-0.5)
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.weight = nn.Parameter(torch.randn(tasks, width) * width**-0.5)
        self.bias = nn.Parameter(torch.zeros(tasks))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """Return ``(n, tasks)`` logits."""
        attention = self.attention(tokens, seen)
        found = self.dropout(functional.gelu(attention @ self.value(tokens)))
        logits: Tensor = (found * self.weight).sum(dim=2) + self.bias
        return logits

    def attention(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """Return ``(n, tasks, tokens)`` what each task looks at; rows sum to 1."""
        score: Tensor = self.query @ self.key(tokens).transpose(1, 2) * tokens.shape[2] ** -0.5
        return score.masked_fill(~seen[:, None, :], float("-inf")).softmax(dim=2)
