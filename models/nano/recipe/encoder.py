"""The encoder: the decoder's body read both ways, over the text and the queries at once, and heads that point into them.

Sequence: USER and the text; ASSISTANT; then each query, which ends where its value would begin, and its options, each
followed by END. A query's last state is compared with the text's states (where a value starts; given that, where it
ends), with its options' states at their END, and with nothing: the value is absent. A body that comes from a decoder
knows there which token comes first: its logits are part of the scores."""

import torch
import torch.nn.functional as F
from torch import nn

from model import Adapted, Linear, Model, Norm

END, SYSTEM, USER, ASSISTANT = range(4)
LONGEST_SPAN = 48
# Of a list: how many stretches are looked at, and how unlikely one may be.
MOST_ITEMS, LEAST = 32, -8.0
# What a list and a choice count beside a stretch, of which there are eight times as many.
LIST, CHOICE = 1.5, 3.0


class Encoder(Model):
    """Parameters of the body bear the decoder's names: its weights can be where training begins."""

    def __init__(self, c):
        super().__init__(c)
        size = c["hidden_size"]
        width = c.get("head_size", size)
        # Each head: what asks and what is asked for.
        self.heads = nn.ModuleDict({n: Linear(size, width, size**-0.5) for n in ("start_q", "start_k", "end_q", "end_k", "from_q", "option_q", "option_k")})
        # Absence of a span, of an option; the threshold of a list's items.
        self.scalars = Linear(size, 3, size**-0.5)
        # How much the decoder's logits count, of starts and of options.
        self.told = nn.Parameter(torch.tensor([0.5, 0.5]))
        self.out = Norm(size, c["rms_norm_eps"])
        self.adapted = "rank" in c
        if self.adapted:
            # The decoder's weights stay what they are: one set serves both.
            self.embed_tokens.weight.requires_grad = False
            for layer in self.layers:
                layer.self_attn.qkv_proj = Adapted(layer.self_attn.qkv_proj, c["rank"])
                layer.self_attn.o_proj = Adapted(layer.self_attn.o_proj, c["rank"])
                layer.mlp.down_proj = Adapted(layer.mlp.down_proj, c["rank"])
                layer.mlp.gate_up_proj.weight.requires_grad = False

    def quantise(self, on):
        super().quantise(on)
        self.scalars.quantised = False
        if self.adapted:
            # These are the packaged ones, in whose form nothing is lost.
            self.quantised = False
            for layer in self.layers:
                layer.mlp.gate_up_proj.quantised = False

    def states(self, tokens, keep, dtype):
        table = self.table()
        x = F.embedding(tokens, table)
        cos, sin = self.cos[: tokens.shape[1]].to(dtype), self.sin[: tokens.shape[1]].to(dtype)
        both = Both(torch.where(keep, 0.0, -1e9)[:, None, None, :].to(dtype))
        for layer in self.layers:
            x = layer(x, cos, sin, dtype, both)
        return self.out(x), self.norm(x)

    def forward(self, batch, dtype=torch.float32):
        h, told = self.states(batch["tokens"], batch["keep"], dtype)
        size = h.shape[-1]
        take = lambda of, at: torch.gather(of, 1, at.clamp_min(0)[..., None].expand(-1, -1, size)).to(dtype)
        queries, options = take(h, batch["queries"]), take(h, batch["options"])
        words = F.embedding(batch["tokens"], self.table())
        told = take(told, batch["queries"])
        x = h.to(dtype)
        head = self.heads
        scale = self.heads["start_q"].weight.shape[0] ** -0.5
        nothing = self.scalars(queries).float()
        outside = ~batch["text"][:, None, :]
        start = (head["start_q"](queries) @ head["start_k"](x).transpose(1, 2)).float() * scale
        start = start + self.told[0] * (told @ words.to(dtype).transpose(1, 2)).float()
        end = (head["end_q"](queries) @ head["end_k"](x).transpose(1, 2)).float() * scale
        choice = (head["option_q"](queries) @ head["option_k"](options).transpose(1, 2)).float() * scale
        choice = choice + self.told[1] * (told @ take(words, batch["firsts"]).transpose(1, 2)).float()
        foreign = batch["option_of"][:, None, :] != torch.arange(queries.shape[1])[None, :, None]
        return {
            "start": start.masked_fill(outside, -1e9),
            "end": end,
            "choice": choice.masked_fill(foreign, -1e9),
            "nothing": nothing,
            "keys": head["end_k"](x),
            "from": head["from_q"](x),
            "scale": scale,
        }


class Both:
    """In the place of a decoder's cache: everything is seen but padding."""

    def __init__(self, mask):
        self.mask = mask

    def append(self, layer, k, v):
        return k, v, self.mask


def ends_after(out, text, row, query, at):
    """Scores of the ends of spans that start at `at`; each argument a vector of as many. Inclusive ends, from `at` on."""
    length = out["start"].shape[-1]
    places = at[:, None] + torch.arange(LONGEST_SPAN)[None]
    inside = (places < length) & text[row[:, None], places.clamp_max(length - 1)]
    places = places.clamp_max(length - 1)
    asked = torch.gather(out["end"][row, query], 1, places)
    keys = out["keys"][row[:, None], places]
    begun = out["from"][row, at]
    return (asked + (keys @ begun[:, :, None])[:, :, 0].float() * out["scale"]).masked_fill(~inside, -1e9)


def encode(tokenizer, example):
    """One example as lists: tokens, where queries and options stand, and what is right."""
    tokens, queries, options, firsts, option_of, targets = [], [], [], [], [], []
    text = tokenizer.encode(example["text"])
    base = 1
    tokens = [USER] + text.ids + [ASSISTANT]
    asked = []
    for n, query in enumerate(example["queries"]):
        tokens += tokenizer.encode(query["ask"]).ids[-120:]
        queries.append(len(tokens) - 1)
        first = len(options)
        for option in query.get("options", []):
            firsts.append(len(tokens))
            tokens += tokenizer.encode(option).ids[:60] + [END]
            options.append(len(tokens) - 1)
            option_of.append(n)
        asked.append((query, first))
    begins = {start: i for i, (start, _) in enumerate(text.offsets)}
    finishes = {end: i for i, (_, end) in enumerate(text.offsets)}
    for query, first in asked:
        if "options" in query:
            right = query.get("option")
            targets.append(None if right is None else ("none" if right < 0 else "option", first + max(0, right)))
            continue
        spans = query.get("spans")
        if spans is None:
            targets.append(None)
            continue
        found = [[(base + begins[s], base + finishes[e]) for s, e in alternatives if s in begins and e in finishes] for alternatives in spans]
        found = [[(s, e) for s, e in alternatives if 0 <= e - s < LONGEST_SPAN] for alternatives in found]
        if any(not alternatives for alternatives in found):
            targets.append(None)
        elif query["list"]:
            targets.append(("list", found))
        else:
            targets.append(("none", 0) if not found else ("span", found[0]))
    return {"tokens": tokens, "base": base, "length": len(text.ids), "queries": queries, "options": options, "firsts": firsts, "option_of": option_of, "targets": targets}


def pack(group):
    length = -(-max(len(e["tokens"]) for e in group) // 16) * 16
    width = max(len(e["queries"]) for e in group)
    depth = max(1, max(len(e["options"]) for e in group))
    full = lambda value, *shape: torch.full((len(group), *shape), value, dtype=torch.long)
    batch = {"tokens": full(0, length), "queries": full(-1, width), "options": full(-1, depth), "firsts": full(-1, depth), "option_of": full(-1, depth)}
    text = torch.zeros(len(group), length, dtype=torch.bool)
    keep = torch.zeros(len(group), length, dtype=torch.bool)
    for row, e in enumerate(group):
        for name in batch:
            if e[name]:
                batch[name][row, : len(e[name])] = torch.tensor(e[name])
        keep[row, : len(e["tokens"])] = True
        text[row, e["base"] : e["base"] + e["length"]] = True
    return {**batch, "keep": keep, "text": text, "targets": [e["targets"] for e in group]}


def loss_of(model, batch, dtype):
    """The mean over queries, and the shares of starts and of options that are right."""
    out = model(batch, dtype)
    singles, lists, choices = [], [], []
    starts = []
    for row, targets in enumerate(batch["targets"]):
        for n, target in enumerate(targets):
            if target is None:
                continue
            kind, value = target
            if kind == "option" or (kind == "none" and batch["option_of"][row].eq(n).any()):
                choices.append((row, n, value if kind == "option" else -1))
            elif kind == "list":
                lists.append((row, n, value))
                starts += [(row, n, s, e) for alternatives in value for s, e in alternatives[:1]]
            else:
                singles.append((row, n, value if kind == "span" else []))
                starts += [(row, n, s, e) for s, e in (value[:2] if kind == "span" else [])]
    total, parts = 0.0, {}
    index = lambda pairs, i: torch.tensor([p[i] for p in pairs])
    if singles:
        r, q = index(singles, 0), index(singles, 1)
        scores = torch.cat([out["start"][r, q], out["nothing"][r, q, 0:1]], 1)
        right = torch.zeros_like(scores, dtype=torch.bool)
        for i, (_, _, spans) in enumerate(singles):
            for s, _ in spans:
                right[i, s] = True
            if not spans:
                right[i, -1] = True
        logs = scores.log_softmax(-1)
        each = -logs.masked_fill(~right, -1e9).logsumexp(-1)
        total = total + each.sum()
        best = scores.argmax(-1)
        hit = right[torch.arange(len(singles)), best]
        some = ~right[:, -1]
        parts["start"] = (hit[some].sum().item(), int(some.sum()))
        parts["absent"] = (hit[~some].sum().item(), int((~some).sum()))
    if lists:
        r, q = index(lists, 0), index(lists, 1)
        scores = out["start"][r, q] - out["nothing"][r, q, 2:3]
        right, known = torch.zeros_like(scores), batch["text"][r].float()
        for i, (_, _, spans) in enumerate(lists):
            for alternatives in spans:
                for s, _ in alternatives:
                    right[i, s] = 1
        each = F.binary_cross_entropy_with_logits(scores.clamp(-30, 30), right, reduction="none") * known
        total = total + LIST * each.sum()
        hit = ((scores > 0).float() * known == right).all(-1)
        parts["list"] = (hit.sum().item(), len(lists))
    if starts:
        r, q, s, e = (index(starts, i) for i in range(4))
        scores = ends_after(out, batch["text"], r, q, s)
        total = total + 0.5 * F.cross_entropy(scores, e - s, reduction="sum")
        parts["end"] = ((scores.argmax(-1) == e - s).sum().item(), len(starts))
    if choices:
        r, q, v = (index(choices, i) for i in range(3))
        scores = torch.cat([out["choice"][r, q], out["nothing"][r, q, 1:2]], 1)
        target = torch.where(v < 0, scores.shape[1] - 1, v)
        total = total + CHOICE * F.cross_entropy(scores, target, reduction="sum")
        parts["choice"] = ((scores.argmax(-1) == target).sum().item(), len(choices))
    count = len(singles) + len(lists) + len(choices)
    return total / max(1, count), parts


def items(out, text, row, query):
    """What may stand in a list, in the text's order: `(first, last, how sure)`, an item where that is above 0. Of two
    that overlap the surer one; unsure ones are told too, for a row of which another column is sure has one of them."""
    sure = out["start"][row, query] - out["nothing"][row, query, 2]
    best = sure.topk(min(MOST_ITEMS, len(sure)))
    kept = best.values > LEAST
    firsts, sure = best.indices[kept], best.values[kept]
    many = len(firsts)
    if many == 0:
        return []
    lasts = firsts + ends_after(out, text, torch.full((many,), row), torch.full((many,), query), firsts).argmax(-1)
    made = []
    for first, last, score in zip(firsts.tolist(), lasts.tolist(), sure.tolist()):
        if all(last < s or first > e for s, e, _ in made):
            made.append((first, last, round(score, 2)))
    return sorted(made)


@torch.no_grad()
def answer(model, batch, examples, dtype=torch.float32):
    """Per example and query: an option's number, spans of tokens, or None."""
    out = model(batch, dtype)
    answers = []
    for row, (e, example) in enumerate(zip(batch["encoded"], examples)):
        mine = []
        for n, query in enumerate(example["queries"]):
            if "options" in query:
                own = [i for i, of in enumerate(e["option_of"]) if of == n]
                scores = out["choice"][row, n, own]
                none = out["nothing"][row, n, 1]
                mine.append({"option": None if query["nullable"] and none > scores.max() else int(scores.argmax())})
                continue
            start = out["start"][row, n]
            if query["list"]:
                mine.append({"spans": items(out, batch["text"], row, n)})
                continue
            logs = torch.cat([start, out["nothing"][row, n, 0:1]]).log_softmax(-1)
            if query["nullable"] and int(logs.argmax()) == len(logs) - 1:
                mine.append({"spans": []})
                continue
            best = logs[:-1].topk(min(6, len(logs) - 1))
            many = len(best.indices)
            scores = ends_after(out, batch["text"], torch.full((many,), row), torch.full((many,), n), best.indices).log_softmax(-1)
            value, end = scores.max(-1)
            joint = best.values + value
            order = joint.argsort(descending=True).tolist()
            mine.append({"spans": [(int(best.indices[i]), int(best.indices[i] + end[i])) for i in order]})
        answers.append(mine)
    return answers
