"""An initialisation that can already copy.

Copying what follows an earlier occurrence of the last two tokens (an induction head) is what this model does all day,
and what gradient descent finds only after millions of tokens. So it is written into the first weights: two heads of
layer 0 look one and two tokens back, and heads of layer 2 look for the place whose two predecessors are the last two
tokens and pass on what stands there. Training starts from there and is free to change all of it."""

import torch

A, B, CONTENT = slice(1, 49), slice(49, 73), 73
MATCH_A, MATCH_B = 20, 12


@torch.no_grad()
def wire(model, look=10.0, match=3.5):
    c = model.config
    dim, heads, kv = c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"]
    hidden, half, group = c["hidden_size"], dim // 2, heads // kv
    assert dim == 64 and group >= 2 and kv >= 2
    generator = torch.Generator().manual_seed(7)
    embedding = torch.randn(c["vocab_size"], hidden, generator=generator) * 0.5
    embedding[:, :CONTENT] = 0
    embedding[:, 0] = 1.5
    model.embed_tokens.weight.copy_(embedding)
    model.norm.weight.fill_(0.1)
    for layer in model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()

    width = hidden - CONTENT
    basis = torch.linalg.qr(torch.randn(width, width, generator=generator))[0]
    first = model.layers[0].self_attn
    q, k, v = split(first.qkv_proj.weight, heads, kv, dim)
    angles = c["rope_theta"] ** (-torch.arange(0, dim, 2).float() / dim)
    sharp = 10
    k[0].zero_()
    k[0][:sharp, 0] = look / 3
    v[0].zero_()
    v[0][:48, CONTENT:] = basis[:48]
    for head, back in ((0, 1), (1, 2)):
        q[head].zero_()
        q[head][:sharp, 0] = (back * angles[:sharp]).cos() * look / 3
        q[head][half : half + sharp, 0] = -(back * angles[:sharp]).sin() * look / 3
    out = first.o_proj.weight
    out[A, :48] = torch.eye(48) * 0.5
    out[B, dim : dim + 24] = torch.eye(24) * 0.5

    second = model.layers[2].self_attn
    q, k, v = split(second.qkv_proj.weight, heads, kv, dim)
    slow = torch.cat([torch.arange(half // 2, half), torch.arange(half + half // 2, dim)])
    out = second.o_proj.weight
    share = min(dim, -(-width // kv))
    for number in range(kv):
        head = number * group
        k[number].zero_()
        q[head].zero_()
        for at in range(MATCH_A + MATCH_B):
            row = slow[at]
            if at < MATCH_A:
                k[number][row, A.start + at] = match
                q[head][row, CONTENT:] = basis[at] * match
            else:
                k[number][row, B.start + at - MATCH_A] = match
                q[head][row, A.start + at - MATCH_A] = match
        rows = basis[number * share : (number + 1) * share]
        v[number].zero_()
        v[number][: len(rows), CONTENT:] = rows
        out[CONTENT:, head * dim : head * dim + len(rows)] = rows.T


def split(weight, heads, kv, dim):
    """Views of the fused projection: queries, keys, values, each per head."""
    parts = weight.view(heads + 2 * kv, dim, -1)
    return parts[:heads], parts[heads : heads + kv], parts[heads + kv :]


if __name__ == "__main__":
    import json
    import os

    from model import Model

    config = json.load(open(os.path.join(os.path.dirname(__file__), "configs.json")))["nano"]["model"]
    model = Model(config)
    wire(model)
    torch.manual_seed(0)
    for length in (30, 100, 200, 400):
        half = torch.randint(5, 4096, (8, length))
        half[:, 1::2] = 220
        tokens = torch.cat([half, half], 1)
        hidden, table = model.hidden(tokens)
        guess = model.logits(hidden[:, length + 1 : -1], table).argmax(-1)
        print(length, (guess == tokens[:, length + 2 :]).float().mean().item())
