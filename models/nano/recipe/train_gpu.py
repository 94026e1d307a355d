"""Trains on a GPU, for a given time, while the machine's cores make the examples:

    python train_gpu.py --config gpu --tokenizer .. --out work/run --minutes 9 --workers 14 \\
      --generate 'npx tsx generate.js --split train --seed {n} --count 3000 --dense 1 --natural 0.7 \\
        --decisions 0.3 --prose {prose:.3f} --words {words:.3f}'

Each run of the command is a shard of examples, read a few times at most; `{n}` is another number each time, `{prose}` and
`{words}` fall from `--early` to `--late` while it trains: words first, then what they are for. As in `train.py` the schedule
follows the clock, and the last `--quantised` part has 4-bit weights in the forward pass."""

import argparse
import json
import multiprocessing
import os
import queue
import random
import subprocess
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F

from data import CHOICE, FREE, encode
from model import Model
from train import descend, far_apart, orthogonal
from wire import wire

# Rows are padded to one of these; the tokens of a batch are the same in all.
LENGTHS = (96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1280, 1536, 2048)


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="gpu")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--generate", required=True)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--batch-tokens", type=int, default=65536)
    parser.add_argument("--quantised", type=float, default=0.2)
    parser.add_argument("--hold", type=float, default=0.4)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--far", type=float, default=0.15)
    parser.add_argument("--early", type=float, nargs=2, default=(0.3, 0.2), help="prose and words at first")
    parser.add_argument("--late", type=float, nargs=2, default=(0.04, 0.06), help="prose and words from a third on")
    parser.add_argument("--pool", type=int, default=96, help="shards that are drawn from")
    parser.add_argument("--val", nargs="*", default=[], help="examples that are only looked at")
    parser.add_argument("--resume")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def encoded(lines, tokenizer):
    made = [encode(tokenizer, json.loads(line)) for line in lines]
    return (
        np.concatenate([np.array(ids, np.int16) for ids, _ in made]),
        np.concatenate([np.array(weights, np.float16) for _, weights in made]),
        np.array([len(ids) for ids, _ in made], np.int32),
    )


def worker(number, o, begun, shards, folder):
    """Makes shard after shard; one that fails is told and made anew."""
    from tokenizers import Tokenizer

    os.environ["RAYON_NUM_THREADS"] = "1"
    tokenizer = Tokenizer.from_file(f"{o.tokenizer}/tokenizer.json")
    for round_ in range(10**6):
        early = max(0.0, 1 - (time.time() - begun) / 60 / o.minutes / 0.33)
        prose, words = (late + (first - late) * early for first, late in zip(o.early, o.late))
        n = o.seed * 10**6 + round_ * 1000 + number
        run = subprocess.run(o.generate.format(n=n, prose=prose, words=words), shell=True, capture_output=True, text=True)
        lines = run.stdout.splitlines()
        if run.returncode != 0 or not lines:
            print(f"shard {n}: {run.stderr[-500:]}", flush=True)
            time.sleep(1)
            continue
        path = f"{folder}/{n}.npz"
        ids, weights, lengths = encoded(lines, tokenizer)
        np.savez(path, ids=ids, weights=weights, lengths=lengths)
        shards.put(path)


class Pool:
    """Shards as they come; batches of examples of like length from some of them."""

    def __init__(self, o, shards, workers):
        self.o, self.shards, self.workers, self.held, self.buckets, self.made = o, shards, workers, [], {}, 0
        self.rng = random.Random(o.seed)
        self.ready = queue.Queue(maxsize=24)
        threading.Thread(target=self.run, daemon=True).start()

    def batch(self):
        """The next one, however long the first examples take on a slow machine."""
        while True:
            try:
                return self.ready.get(timeout=10)
            except queue.Empty:
                if not any(each.is_alive() for each in self.workers):
                    raise SystemExit("whoever makes the examples has ended") from None

    def take(self):
        while True:
            try:
                path = self.shards.get(timeout=60 if not self.held else 0.001)
            except queue.Empty:
                return
            with np.load(path) as saved:
                ends = np.cumsum(saved["lengths"])[:-1]
                self.held.append(list(zip(np.split(saved["ids"], ends), np.split(saved["weights"], ends))))
            os.remove(path)
            self.made += 1
            if len(self.held) > self.o.pool:
                self.held.pop(self.rng.randrange(len(self.held) - self.o.pool // 2))

    def run(self):
        while True:
            self.take()
            if not self.held:
                continue
            some = self.rng.sample(self.held, min(4, len(self.held)))
            examples = [example for shard in some for example in shard]
            self.rng.shuffle(examples)
            batches = []
            for example in examples:
                length = next((n for n in LENGTHS if n >= len(example[0])), None)
                if length is None:
                    continue
                bucket = self.buckets.setdefault(length, [])
                bucket.append(example)
                if len(bucket) * length >= self.o.batch_tokens:
                    batches.append((length, self.buckets.pop(length)))
            self.rng.shuffle(batches)
            for length, bucket in batches:
                self.ready.put(packed(bucket, length))


def packed(bucket, length):
    tokens = np.zeros((len(bucket), length), np.int64)
    weights = np.zeros((len(bucket), length), np.float32)
    talk = np.zeros(len(bucket), bool)
    for row, (ids, w) in enumerate(bucket):
        tokens[row, : len(ids)] = ids
        weights[row, : len(w)] = w
        talk[row] = w[-1] == CHOICE
    pin = (lambda t: t.pin_memory()) if torch.cuda.is_available() else (lambda t: t)
    lengths = torch.tensor([len(ids) for ids, _ in bucket])
    return [pin(torch.from_numpy(a)) for a in (tokens, weights, talk)] + [pin(lengths)]


def disturbed(tokens, weights, talk, lengths):
    """What is read, and how much each token of it counts: see `train.pack`, whose rules these are."""
    places = torch.arange(tokens.shape[1], device=tokens.device)
    prompt = (weights == 0) & (places < lengths[:, None]) & (torch.rand_like(weights) < 0.1)
    weights = torch.where(prompt, 0.1, weights)
    slipping = (talk & (torch.rand(len(talk), device=tokens.device) < 0.5))[:, None]
    slips = slipping & (weights >= FREE) & (torch.rand_like(weights) < 0.2)
    given = torch.where(slips, torch.randint(4, 4096, tokens.shape, device=tokens.device), tokens)
    return given, weights


class Muon:
    """As in `train.py`; matrices of one shape are made orthogonal together, which a GPU does as fast as one."""

    def __init__(self, parameters, rate, momentum=0.95, decay=0.05):
        self.rate, self.momentum, self.decay = rate, momentum, decay
        shapes = {}
        for p in parameters:
            shapes.setdefault(tuple(p.shape), []).append(p)
        self.groups = [(some, torch.zeros(len(some), *shape, device=some[0].device)) for shape, some in shapes.items()]

    @torch.no_grad()
    def step(self, scale):
        for some, buffer in self.groups:
            grad = torch.stack([p.grad for p in some])
            buffer.mul_(self.momentum).add_(grad)
            update = orthogonal(grad + self.momentum * buffer)
            factor = self.rate * scale * max(1, some[0].shape[0] / some[0].shape[1]) ** 0.5
            for p, u in zip(some, update):
                p.mul_(1 - self.rate * scale * self.decay).add_(u, alpha=-factor)


def loss_of(model, given, tokens, weight, dtype, far):
    read = given[:, :-1]
    positions = far_apart(read.shape, model.config["context_window_size"], read.device) if far else None
    hidden, table = model.hidden(read, dtype, positions)
    weight = weight[:, 1:]
    chosen = (weight > 0).flatten().nonzero()[:, 0]
    logits = model.logits(hidden.flatten(0, 1)[chosen].to(dtype), table).float()
    each = F.cross_entropy(logits, tokens[:, 1:].flatten()[chosen], reduction="none")
    w = weight.flatten()[chosen]
    return (each * w).sum() / w.sum(), each.detach(), w


@torch.no_grad()
def judged(model, batches, dtype):
    """Of examples that are only looked at: loss of what is chosen, and how often the first token is right."""
    model.eval()
    lost = counted = right = first = 0
    for tokens, weights, *_ in batches:
        hidden, table = model.hidden(tokens[:, :-1], dtype)
        w = weights[:, 1:].flatten()
        logits = model.logits(hidden.flatten(0, 1).to(dtype), table).float()
        aims = tokens[:, 1:].flatten()
        each = F.cross_entropy(logits, aims, reduction="none")
        lost += each[w >= FREE].sum().item()
        counted += (w >= FREE).sum().item()
        right += (logits.argmax(-1) == aims)[w >= CHOICE].sum().item()
        first += (w >= CHOICE).sum().item()
    model.train()
    return f"loss {lost / max(1, counted):.3f}, first tokens {right / max(1, first):.1%} of {first}"


def val_batches(path, tokenizer, device):
    examples = [encode(tokenizer, json.loads(line)) for line in open(path)]
    examples = sorted((e for e in examples if len(e[0]) <= 1536), key=lambda e: len(e[0]))
    out = []
    for at in range(0, len(examples), 32):
        some = [(np.array(i, np.int16), np.array(w, np.float16)) for i, w in examples[at : at + 32]]
        longest = -(-max(len(i) for i, _ in some) // 16) * 16
        out.append([t.to(device) for t in packed(some, longest)])
    return out


def main():
    o = options()
    os.makedirs(o.out, exist_ok=True)
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else o.out
    folder = f"{folder}/nano-{os.getpid()}"
    os.makedirs(folder, exist_ok=True)
    begun = time.time()
    context = multiprocessing.get_context("fork")
    shards = context.Queue(maxsize=48)
    workers = [context.Process(target=worker, args=(i, o, begun, shards, folder), daemon=True) for i in range(o.workers)]
    for each in workers:
        each.start()

    torch.manual_seed(o.seed)
    torch.set_num_threads(1)
    rng = random.Random(o.seed)
    config = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "configs.json")))[o.config]
    model = Model(config["model"])
    if o.resume:
        model.load_state_dict(torch.load(o.resume, weights_only=True, map_location="cpu")["model"])
    elif config.get("wired"):
        wire(model)
    model = model.to(o.device)
    model.drop(o.dropout)
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim == 1 or "embed" in n]
    muon = Muon(matrices, 0.02 * o.rate, decay=o.decay)
    adam = torch.optim.AdamW(others, lr=4e-3 * o.rate, betas=(0.9, 0.95), weight_decay=0.0)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{o.tokenizer}/tokenizer.json")
    vals = {os.path.basename(path): val_batches(path, tokenizer, o.device) for path in o.val}
    pool = Pool(o, shards, workers)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters on {o.device}, {o.workers} workers", flush=True)

    def save(name):
        path = f"{o.out}/{name}"
        state = {name: value.detach().cpu() for name, value in model.state_dict().items()}
        torch.save({"model": state, "config": config}, path + ".part")
        os.replace(path + ".part", path)

    progress = lambda: min(1.0, (time.time() - begun) / 60 / o.minutes)
    step = seen = 0
    waited = 0.0
    window, told, saved = [], time.time(), time.time()
    ahead = pool.batch()
    # The minutes are those of training: what the first examples took is not among them.
    begun = time.time()
    while progress() < 1:
        before = time.time()
        batch = [t.to(o.device, non_blocking=True) for t in ahead or pool.batch()]
        ahead = None
        waited += time.time() - before
        given, weight = disturbed(*batch)
        tokens = batch[0]
        done = progress()
        if not model.quantised and done > 1 - o.quantised:
            save("before-quantisation.pt")
            model.quantise(True)
            model.drop(o.dropout / 2)
            print("4-bit from here", flush=True)
        scale = min(1, (step + 1) / 80) * min(1, max(0.01, (1 - done) / max(1e-9, 1 - o.hold)))
        total, each, w = loss_of(model, given, tokens, weight, torch.bfloat16, rng.random() < o.far)
        descend(model, total, adam, others, muon, 4e-3 * o.rate, scale)
        step += 1
        seen += tokens.numel()
        if step % 10 == 0:
            window.append((each[w >= FREE].mean(), each[w >= CHOICE].mean()))
        if time.time() - told > 15:
            now = time.time()
            free, choice = (torch.stack(some).mean().item() for some in zip(*window)) if window else (0, 0)
            print(f"{(now - begun) / 60:5.2f} min step {step} {seen / 1e6:.1f}M tokens ({seen / (now - begun):.0f}/s, waited {waited:.0f} s) shards {pool.made} loss {free:.3f} first {choice:.3f}", flush=True)
            if int((now - begun) / 60) > int((told - begun) / 60):
                for name, batches in vals.items():
                    print(f"      {name}: {judged(model, batches, torch.bfloat16)}", flush=True)
            window, told = [], now
        if time.time() - saved > 120:
            save("checkpoint.pt")
            saved = time.time()
    for each in workers:
        each.terminate()
    save("final.pt")
    for name, batches in vals.items():
        print(f"      {name}: {judged(model, batches, torch.bfloat16)}", flush=True)


if __name__ == "__main__":
    main()
