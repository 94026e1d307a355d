"""A Llama decoder whose parameters bear MLC's names, so that nothing has to be renamed when it is packaged."""

import math

import torch
import torch.nn.functional as F
from torch import nn

GROUP = 32


def fake_quantise(weight):
    """q4f16_1 as the packager writes it, with gradients passed straight through."""
    rows, columns = weight.shape
    groups = weight.detach().reshape(rows, columns // GROUP, GROUP)
    scale = (groups.abs().amax(dim=-1, keepdim=True) / 7).half().float().clamp_min(1e-8)
    rounded = (groups / scale).round().clamp(-7, 8) * scale
    return weight + (rounded.reshape(rows, columns) - weight.detach())


class Linear(nn.Module):
    def __init__(self, inputs, outputs, std):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * std)
        self.quantised = False

    def forward(self, x):
        weight = fake_quantise(self.weight) if self.quantised else self.weight
        return F.linear(x, weight.to(x.dtype))


class Adapted(Linear):
    """A product whose matrix stays as it is, and beside it one of low rank that is trained. Both of its factors have as
    many rows as the rank, so that they are packed like any matrix."""

    def __init__(self, of, rank):
        nn.Module.__init__(self)
        self.register_buffer("weight", of.weight.detach())
        outputs, inputs = of.weight.shape
        self.into = nn.Parameter(torch.randn(rank, inputs) * inputs**-0.5)
        self.out = nn.Parameter(torch.zeros(rank, outputs))
        self.quantised = False
        self.kept = None

    def forward(self, x):
        if self.kept is None or self.kept.dtype != x.dtype:
            self.kept = self.weight.to(x.dtype)
        into, out = (fake_quantise(each) if self.quantised else each for each in (self.into, self.out))
        return F.linear(x, self.kept) + F.linear(x, into.to(x.dtype)) @ out.to(x.dtype)


class Norm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return y * self.weight


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def attend(q, k, v, mask):
    """Plain products: on a CPU, heads this small are four times slower in torch's fused attention."""
    batch, heads, length, dim = q.shape
    if q.is_cuda or (mask is not None and k.shape[2] != length):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
    if mask is None:
        mask = torch.full((length, length), -1e9, dtype=q.dtype).triu(1)
    elif mask.dtype == torch.bool:
        mask = torch.where(mask, 0.0, -1e9).to(q.dtype)
    future = mask.expand(batch, heads, length, length).reshape(batch * heads, length, length)
    q, k, v = ((t.reshape(batch * heads, length, dim)) for t in (q * dim**-0.5, k, v))
    return (torch.baddbmm(future, q, k.transpose(1, 2)).softmax(-1) @ v).view(batch, heads, length, dim)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv, self.dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        std = c["hidden_size"] ** -0.5
        self.qkv_proj = Linear(c["hidden_size"], (self.heads + 2 * self.kv) * self.dim, std)
        self.o_proj = Linear(self.heads * self.dim, c["hidden_size"], std / math.sqrt(2 * c["num_hidden_layers"]))

    def forward(self, x, cos, sin, cache=None):
        batch, length, _ = x.shape
        qkv = self.qkv_proj(x).view(batch, length, self.heads + 2 * self.kv, self.dim).transpose(1, 2)
        rotated = rotate(qkv[:, : self.heads + self.kv], cos, sin)
        q, k = rotated[:, : self.heads], rotated[:, self.heads :]
        v = qkv[:, self.heads + self.kv :]
        mask = None
        if cache is not None:
            k, v, mask = cache.append(self, k, v)
        times = self.heads // self.kv
        if times > 1:
            k, v = (t.repeat_interleave(times, dim=1) for t in (k, v))
        y = attend(q, k, v.to(q.dtype), mask)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, self.heads * self.dim))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        inner, std = c["intermediate_size"], c["hidden_size"] ** -0.5
        self.gate_up_proj = Linear(c["hidden_size"], 2 * inner, std)
        self.down_proj = Linear(inner, c["hidden_size"], inner**-0.5 / math.sqrt(2 * c["num_hidden_layers"]))

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.dropout = 0.0
        self.self_attn, self.mlp = Attention(c), MLP(c)
        self.input_layernorm = Norm(c["hidden_size"], c["rms_norm_eps"])
        self.post_attention_layernorm = Norm(c["hidden_size"], c["rms_norm_eps"])

    def forward(self, x, cos, sin, dtype, cache=None):
        x = x + self.dropped(self.self_attn(self.input_layernorm(x).to(dtype), cos, sin, cache))
        return x + self.dropped(self.mlp(self.post_attention_layernorm(x).to(dtype)))

    def dropped(self, y):
        return F.dropout(y, self.dropout) if self.dropout > 0 and self.training else y


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Module()
        self.embed_tokens.weight = nn.Parameter(torch.randn(c["vocab_size"], c["hidden_size"]) * 0.02)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = Norm(c["hidden_size"], c["rms_norm_eps"])
        angles = torch.outer(
            torch.arange(c["context_window_size"]).float(),
            c["rope_theta"] ** (-torch.arange(0, c["head_dim"], 2).float() / c["head_dim"]),
        )
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.quantised = False

    def quantise(self, on):
        """From here on every matrix is used as its 4-bit form."""
        self.quantised = on
        for module in self.modules():
            if isinstance(module, Linear):
                module.quantised = on

    def drop(self, share):
        """So much of what each block adds is left out at random, while it trains."""
        for layer in self.layers:
            layer.dropout = share

    def table(self):
        weight = self.embed_tokens.weight
        return fake_quantise(weight) if self.quantised else weight

    def hidden(self, tokens, dtype=torch.float32, positions=None, cache=None):
        table = self.table()
        x = F.embedding(tokens, table)
        if positions is None:
            cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        else:
            cos, sin = self.cos[positions].unsqueeze(1), self.sin[positions].unsqueeze(1)
        cos, sin = cos.to(dtype), sin.to(dtype)
        for layer in self.layers:
            x = layer(x, cos, sin, dtype, cache)
        return self.norm(x), table

    def logits(self, hidden, table):
        return F.linear(hidden, table.to(hidden.dtype))
