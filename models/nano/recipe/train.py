"""Trains for a given time: `python train.py --config nano --data a.jsonl --tokenizer FOLDER --out FOLDER --minutes 40`.

The schedule follows the clock, so that any machine ends with a cooled-down model. Every ten minutes a checkpoint is
written from which `--resume` goes on. The last `--quantised` part of the time is spent with 4-bit weights in the forward
pass (straight-through), after which the packager loses nothing.

With `--refill 'COMMAND'` the data never ends: as soon as the newest examples have all been drawn once, the command runs
beside the training and its output takes the place of the oldest. `{n}` in it counts, as a seed."""

import argparse
import json
import os
import random
import shlex
import subprocess
import time

import torch
import torch.nn.functional as F

from data import CHOICE, FREE, load, read
from evaluate import evaluate
from model import Model
from wire import wire


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="nano")
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--eval")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--batch-tokens", type=int, default=5000)
    parser.add_argument("--longest", type=int, default=640)
    parser.add_argument("--quantised", type=float, default=0.15)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--warm-data", type=float, default=0.0, help="where in the curriculum to begin, 0 to 1")
    parser.add_argument("--flat", action="store_true", help="no curriculum: all the data at all times")
    parser.add_argument("--refill", help="a command that prints fresh examples")
    parser.add_argument("--keep", type=int, default=20000, help="examples held at most where they are refilled")
    parser.add_argument("--far", type=float, default=0.15, help="share of the batches with gaps in their positions")
    parser.add_argument("--resume")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hold", type=float, default=0.4, help="share of the time at the full rate")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


class Muon:
    """Orthogonalised momentum for the matrices; about half again as much learned per token as with Adam at this size."""

    def __init__(self, parameters, rate, momentum=0.95, decay=0.02):
        self.parameters, self.rate, self.momentum, self.decay = list(parameters), rate, momentum, decay
        self.buffers = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self, scale):
        for p, buffer in zip(self.parameters, self.buffers):
            if p.grad is None:
                continue
            buffer.mul_(self.momentum).add_(p.grad)
            update = orthogonal(p.grad + self.momentum * buffer)
            p.mul_(1 - self.rate * scale * self.decay)
            p.add_(update, alpha=-self.rate * scale * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def orthogonal(g):
    """Of one matrix, or of each of several of one shape."""
    x = g.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        b = -4.7750 * a + 2.0315 * (a @ a)
        x = 3.4445 * x + b @ x
    return (x.mT if tall else x).float()


def descend(model, loss, adam, others, muon, rate, scale):
    """A step against the gradient of `loss`: Adam's at `rate` for `others`, Muon's for the matrices."""
    for p in model.parameters():
        p.grad = None
    loss.backward()
    for group in adam.param_groups:
        group["lr"] = rate * scale
    torch.nn.utils.clip_grad_norm_(others, 1.0)
    adam.step()
    muon.step(scale)


class Refill:
    """Fresh examples from a command, one run at a time; a run that fails is forgotten and made again."""

    def __init__(self, options, tokenizer, size):
        self.command, self.keep, self.longest = options.refill, options.keep, options.longest
        self.path, self.tokenizer = f"{options.out}/refill.jsonl", tokenizer
        self.left, self.run, self.n = size, None, options.seed * 1000

    def draw(self, count, ids, weights):
        self.left -= count
        if self.run is None:
            if self.left <= 0:
                self.start()
        elif self.run.poll() is not None:
            made = read(self.path, self.tokenizer, self.longest) if self.run.returncode == 0 else ([], [])
            print(f"refill {self.n}: {len(made[0])} examples", flush=True)
            for all_of, new in zip((ids, weights), made):
                all_of += new
                del all_of[: max(0, len(all_of) - self.keep)]
            self.left, self.run = len(made[0]), None

    def start(self):
        self.n += 1
        with open(self.path, "w") as file:
            self.run = subprocess.Popen(shlex.split(self.command.replace("{n}", str(self.n))), stdout=file)


def batches(ids, budget, progress, rng, flat, draw):
    """Examples of like length together, drawn from a window that moves through the curriculum."""
    while True:
        draw()
        low = 0 if flat else int(len(ids) * 0.75 * progress())
        high = len(ids) if flat else min(len(ids), low + int(len(ids) * 0.25))
        cap = 110 + 1500 * progress() if progress() < 0.4 and not flat else 10000
        window = [i for i in rng.sample(range(low, high), min(1500, high - low)) if len(ids[i]) <= cap]
        chosen = sorted(window[:400], key=lambda i: len(ids[i]))
        groups, group = [], []
        for i in chosen:
            if group and len(ids[i]) * (len(group) + 1) > budget:
                groups.append(group)
                group = []
            group.append(i)
        rng.shuffle(groups)
        yield from groups[: max(1, len(groups) // 2)] if progress() < 0.05 and not flat else groups


def pack(group, ids, weights, device):
    """What is read, what is expected, and how much each token of it counts."""
    longest = -(-max(len(ids[i]) for i in group) // 16) * 16
    tokens = torch.zeros(len(group), longest, dtype=torch.long)
    loss = torch.zeros(len(group), longest)
    for row, i in enumerate(group):
        tokens[row, : len(ids[i])] = torch.from_numpy(ids[i].astype("int64"))
        loss[row, : len(ids[i])] = torch.from_numpy(weights[i])
        # A tenth of the prompt is predicted too, lightly: it teaches the words.
        prompt = (loss[row, : len(ids[i])] == 0) & (torch.rand(len(ids[i])) < 0.1)
        loss[row, : len(ids[i])][prompt] = 0.1
    given = tokens.clone()
    for row, i in enumerate(group):
        if weights[i][-1] == CHOICE and torch.rand(()) < 0.5:
            # Talk that has slipped still comes to its end: wrong words are read, the right ones are expected.
            slips = (loss[row] >= FREE) & (torch.rand(longest) < 0.2)
            given[row, slips] = torch.randint(4, 4096, (int(slips.sum()),))
    return given.to(device), tokens.to(device), loss.to(device)


def far_apart(shape, context, device):
    """Positions with a gap somewhere: what lies far apart in a long text is learnt from short ones."""
    rows, length = shape
    split = torch.randint(1, length, (rows, 1))
    gap = (torch.rand(rows, 1) * (context - length)).long()
    steps = torch.arange(length).expand(rows, length)
    return (steps + gap * (steps >= split)).to(device)


def loss_of(model, forward, given, tokens, weight, dtype, far):
    read = given[:, :-1]
    positions = far_apart(read.shape, model.config["context_window_size"], read.device) if far else None
    hidden, table = forward(read, dtype, positions)
    weight = weight[:, 1:]
    chosen = weight > 0
    logits = model.logits(hidden[chosen].to(dtype), table).float()
    each = F.cross_entropy(logits, tokens[:, 1:][chosen], reduction="none")
    w = weight[chosen]
    return (each * w).sum() / w.sum(), each[w >= 1].mean().item(), each[w > 1].mean().item()


def main():
    o = options()
    torch.manual_seed(o.seed)
    rng = random.Random(o.seed)
    torch.set_num_threads(o.threads)
    config = json.load(open(os.path.join(os.path.dirname(__file__), "configs.json")))[o.config]
    model = Model(config["model"]).to(o.device)
    os.makedirs(o.out, exist_ok=True)
    state = torch.load(o.resume, weights_only=True) if o.resume else None
    if state:
        model.load_state_dict(state["model"])
    elif config.get("wired"):
        wire(model)
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim == 1 or "embed" in n]
    muon = Muon(matrices, 0.02 * o.rate)
    adam = torch.optim.AdamW(others, lr=4e-3 * o.rate, betas=(0.9, 0.95), weight_decay=0.0)
    if state and "muon" in state:
        muon.buffers = state["muon"]
        adam.load_state_dict(state["adam"])
    tokenizer, ids, weights = load(o.data, o.tokenizer, o.longest)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(ids)} examples, {sum(map(len, ids)) / 1e6:.1f}M tokens", flush=True)

    forward = torch.compile(model.hidden, dynamic=True) if o.compile else model.hidden
    begun = time.time()
    progress = lambda: min(1.0, (time.time() - begun) / 60 / o.minutes)
    refill = Refill(o, tokenizer, len(ids)) if o.refill else None
    draw = (lambda: refill.draw(400, ids, weights)) if refill else (lambda: None)
    source = batches(ids, o.batch_tokens, lambda: o.warm_data + (1 - o.warm_data) * progress(), rng, o.flat, draw)
    warm = 10 if state and "muon" in state else 60
    step = tokens_seen = 0
    window, saved, evaluated = [], begun, begun

    def save(name):
        path = f"{o.out}/{name}"
        torch.save({"model": model.state_dict(), "muon": muon.buffers, "adam": adam.state_dict(), "config": config}, path + ".part")
        os.replace(path + ".part", path)

    while progress() < 1:
        given, tokens, weight = pack(next(source), ids, weights, o.device)
        done = progress()
        if not model.quantised and done > 1 - o.quantised:
            save("before-quantisation.pt")
            model.quantise(True)
            print("4-bit from here", flush=True)
        scale = min(1, (step + 1) / warm) * min(1, max(0.02, (1 - done) / max(1e-9, 1 - o.hold)))
        total, free, choice = loss_of(model, forward, given, tokens, weight, torch.bfloat16, rng.random() < o.far)
        descend(model, total, adam, others, muon, 4e-3 * o.rate, scale)
        step += 1
        tokens_seen += tokens.numel()
        window.append((free, choice))
        if step % 50 == 0:
            now = time.time()
            print(f"{(now - begun) / 60:5.1f} min step {step} {tokens_seen / 1e6:.2f}M tokens ({tokens_seen / (now - begun):.0f}/s) loss {sum(w[0] for w in window) / len(window):.3f}, of first tokens {sum(w[1] for w in window) / len(window):.3f}, length {tokens.shape[1]}", flush=True)
            window = []
            if now - saved > 600:
                save("checkpoint.pt")
                saved = now
            if o.eval and now - evaluated > 420:
                evaluate(model, tokenizer, o.eval, 48)
                evaluated = time.time()
    save("final.pt")
    if o.eval:
        evaluate(model, tokenizer, o.eval, 120)


if __name__ == "__main__":
    main()
