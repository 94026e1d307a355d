"""Greedy answers on held-out cases, without a grammar: the trend while training. `check-nano` is the measure."""

import json
import sys
import time
from collections import defaultdict

import torch

from data import END, prompt_of


class Cache:
    """Keys and values of one batch; rows are padded on the left."""

    def __init__(self, blocked):
        self.layers, self.blocked = {}, blocked

    def append(self, layer, k, v):
        if layer in self.layers:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.layers[layer], (k, v)))
        self.layers[layer] = (k, v)
        total = k.shape[2]
        return k, v, self.mask[:, :, :, :total]


@torch.no_grad()
def generate(model, prompts, limit=160):
    """Greedy continuations of a batch of token lists."""
    longest = max(map(len, prompts))
    tokens = torch.tensor([[END] * (longest - len(p)) + p for p in prompts])
    padding = torch.tensor([longest - len(p) for p in prompts])
    out = [[] for _ in prompts]
    done = [False] * len(prompts)
    cache = Cache(padding)
    places = torch.arange(longest + limit)
    visible = places[None, :] >= padding[:, None]
    cache.mask = (visible[:, None, :] & (places[None, None, :] <= places[:longest, None]))[:, None]
    cache.mask = cache.mask | torch.eye(longest, longest + limit, dtype=torch.bool)
    positions = (torch.arange(longest)[None] - padding[:, None]).clamp_min(0)
    for step in range(limit):
        hidden, table = model.hidden(tokens, positions=positions, cache=cache)
        chosen = model.logits(hidden[:, -1], table).argmax(-1)
        for row, token in enumerate(chosen.tolist()):
            done[row] = done[row] or token == END
            if not done[row]:
                out[row].append(token)
        if all(done):
            break
        tokens = chosen[:, None]
        positions = (longest + step - padding)[:, None]
        cache.mask = visible[:, None, None, :]
    return out


def prompt_for(case, describe):
    return case["system"] + "\n\n" + describe if case["system"] else describe


def equal(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return a == b


def evaluate(model, tokenizer, path, count, show=0):
    begun = time.time()
    cases = [json.loads(line) for line in open(path)][:count]
    cases = [c for c in cases if len(prompt_of(tokenizer, prompt_for(c, c["described"]), c["user"])) < 860]
    right, asked = defaultdict(int), defaultdict(int)
    for start in range(0, len(cases), 20):
        part = cases[start : start + 20]
        answers = generate(model, [prompt_of(tokenizer, prompt_for(c, c["described"]), c["user"]) for c in part])
        for case, ids in zip(part, answers):
            text = tokenizer.decode(ids)
            try:
                got = json.loads(text)
            except ValueError:
                got = {}
            got = got if isinstance(got, dict) else {}
            if show > 0:
                print(json.dumps(case["answer"], ensure_ascii=False), "\n   ", text)
                show -= 1
            for name, kind in case["kinds"].items():
                good = equal(got[name], case["answer"].get(name, "?")) if name in got else name not in case["answer"] and got != {}
                for key in (case["split"], kind):
                    right[key] += good
                    asked[key] += 1
    print("  held out: " + ", ".join(f"{k} {right[k] / asked[k]:.0%}" for k in asked) + f" ({time.time() - begun:.0f} s)", flush=True)
    return {k: (right[k], asked[k]) for k in asked}


if __name__ == "__main__":
    from tokenizers import Tokenizer

    from model import Model

    state = torch.load(sys.argv[1], weights_only=True)
    model = Model(state["config"]["model"])
    model.load_state_dict(state["model"])
    model.quantise("--4bit" in sys.argv)
    evaluate(model, Tokenizer.from_file(f"{sys.argv[2]}/tokenizer.json"), sys.argv[3], 400, 20)
