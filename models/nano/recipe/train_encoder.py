"""Trains the encoder for a given time: `python train_encoder.py --data a.jsonl --tokenizer FOLDER --out FOLDER --minutes 60`.

As `train.py`: a schedule by the clock, checkpoints every ten minutes, `--refill` for data that never ends. `--resume`
takes a decoder's checkpoint for the body as well as an encoder's. The mean of the weights (EMA) is what is kept."""

import argparse
import json
import os
import random
import time

import torch
from tokenizers import Tokenizer

import train
from compact import read as restore
from data import read as read_spoken
from encoder import Encoder, encode, loss_of, pack
from train import Muon, Refill, descend


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="nano")
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--batch-tokens", type=int, default=5000)
    parser.add_argument("--longest", type=int, default=900)
    parser.add_argument("--quantised", type=float, default=0.2)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--hold", type=float, default=0.5, help="share of the time at the full rate")
    parser.add_argument("--ema", type=float, default=0.99)
    parser.add_argument("--refill", help="a command that prints fresh examples")
    parser.add_argument("--keep", type=int, default=20000)
    parser.add_argument("--resume")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stop", help="a file whose existence ends the training as its time would")
    parser.add_argument("--spoken", nargs="+", help="the decoder's examples: the same body goes on to write, too")
    parser.add_argument("--spoken-refill", help="a command that prints fresh ones")
    parser.add_argument("--spoken-tokens", type=int, default=2500, help="how many of them in a step")
    parser.add_argument("--compile", action="store_true", help="fused layers; wants a C++ compiler")
    return parser.parse_args()


def read(path, tokenizer, longest):
    with open(path) as file:
        made = (encode(tokenizer, json.loads(line)) for line in file)
        return [e for e in made if len(e["tokens"]) <= longest and any(t is not None for t in e["targets"])]


class Examples(Refill):
    """Fresh examples from a command, as the decoder's, of one list."""

    def more(self, count, examples):
        self.left -= count
        if self.run is None:
            if self.left <= 0:
                self.start()
        elif self.run.poll() is not None:
            made = read(self.path, self.tokenizer, self.longest) if self.run.returncode == 0 else []
            print(f"refill {self.n}: {len(made)} examples", flush=True)
            examples += made
            del examples[: max(0, len(examples) - self.keep)]
            self.left, self.run = len(made), None


def spoken(o, tokenizer, rng):
    """Batches of the decoder's examples, without an end."""
    ids, weights = [], []
    for path in o.spoken:
        for all_of, new in zip((ids, weights), read_spoken(path, tokenizer, o.longest)):
            all_of += new
    own = argparse.Namespace(**{**vars(o), "refill": o.spoken_refill, "out": os.path.join(o.out, "spoken")})
    os.makedirs(own.out, exist_ok=True)
    refill = Refill(own, tokenizer, len(ids)) if o.spoken_refill else None
    draw = (lambda: refill.draw(400, ids, weights)) if refill else (lambda: None)
    for group in train.batches(ids, o.spoken_tokens, lambda: 1.0, rng, True, draw):
        yield train.pack(group, ids, weights, "cpu")


def batches(examples, budget, rng, draw):
    while True:
        draw(400)
        chosen = sorted(rng.sample(examples, min(400, len(examples))), key=lambda e: len(e["tokens"]))
        groups, group = [], []
        for e in chosen:
            if group and len(e["tokens"]) * (len(group) + 1) > budget:
                groups.append(group)
                group = []
            group.append(e)
        groups.append(group)
        rng.shuffle(groups)
        yield from groups


def main():
    o = options()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    rng = random.Random(o.seed)
    config = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "configs.json")))[o.config]
    model = Encoder(config["model"])
    state = restore(o.resume) if o.resume else None
    if state:
        missing, unexpected = model.load_state_dict(state.get("last", state["model"]), strict=False)
        print(f"resumed; anew: {', '.join(missing) or 'nothing'}; left out: {', '.join(unexpected) or 'nothing'}", flush=True)
    os.makedirs(o.out, exist_ok=True)
    # Adam for what is no matrix between two spaces: norms, tables, and factors of low rank.
    small = lambda n, p: p.ndim == 1 or any(part in n for part in ("embed", "scalars", "told", "into", ".out"))
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    matrices = [p for n, p in trained if not small(n, p)]
    others = [p for n, p in trained if small(n, p)]
    muon = Muon(matrices, 0.02 * o.rate)
    adam = torch.optim.AdamW(others, lr=2e-3 * o.rate, betas=(0.9, 0.95), weight_decay=0.0)
    if state and "last" in state:
        muon.buffers = state["muon"]
        adam.load_state_dict(state["adam"])
    tokenizer = Tokenizer.from_file(f"{o.tokenizer}/tokenizer.json")
    examples = [e for path in o.data for e in read(path, tokenizer, o.longest)]
    mean = {n: p.detach().clone() for n, p in model.state_dict().items()}
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(examples)} examples", flush=True)
    begun = saved = time.time()
    progress = lambda: 1.0 if o.stop and os.path.exists(o.stop) else min(1.0, (time.time() - begun) / 60 / o.minutes)
    refill = Examples(o, tokenizer, len(examples)) if o.refill else None
    source = batches(examples, o.batch_tokens, rng, lambda n: refill.more(n, examples) if refill else None)
    writing = spoken(o, tokenizer, rng) if o.spoken else None
    if o.compile:
        for layer in model.layers:
            layer.forward = torch.compile(layer.forward, dynamic=True)
    step, seen = 0, state.get("seen", 0) if state else 0
    first = seen
    window, packed = {}, False
    threads = o.threads

    def save(name):
        path = f"{o.out}/{name}"
        kept = {"model": mean, "last": model.state_dict() if not model.adapted else mean, "muon": muon.buffers, "adam": adam.state_dict(), "config": config, "seen": seen}
        torch.save(kept, path + ".part")
        os.replace(path + ".part", path)

    while progress() < 1:
        group = next(source)
        batch = pack(group)
        done = progress()
        if not packed and done > 1 - o.quantised:
            packed = True
            save("before-quantisation.pt")
            model.quantise(True)
            print("4-bit from here", flush=True)
        scale = min(1, (step + 1) / 40) * min(1, max(0.02, (1 - done) / max(1e-9, 1 - o.hold)))
        total, parts = loss_of(model, batch, torch.bfloat16)
        if writing:
            given, tokens, weight = next(writing)
            said, free, _ = train.loss_of(model, model.hidden, given, tokens, weight, torch.bfloat16, rng.random() < 0.15)
            parts["spoken"] = (free, 1)
            seen += int((tokens > 0).sum())
            total = total + said
        descend(model, total, adam, others, muon, 2e-3 * o.rate, scale)
        step += 1
        seen += sum(len(e["tokens"]) for e in group)
        keep = min(o.ema, (step + 1) / (step + 10))
        with torch.no_grad():
            for n, p in trained:
                mean[n].lerp_(p, 1 - keep)
        for name, (right, count) in {**parts, "loss": (total.item(), 1)}.items():
            a, b = window.get(name, (0, 0))
            window[name] = (a + right, b + count)
        if step % 10 == 0 and os.path.exists(f"{o.out}/threads"):
            with open(f"{o.out}/threads") as file:
                wanted = int(file.read() or threads)
            if wanted != threads:
                threads = wanted
                torch.set_num_threads(threads)
        if step % 25 == 0:
            shares = ", ".join(f"{n} {a / max(1, b):.3f}" for n, (a, b) in sorted(window.items()))
            now = time.time()
            print(f"{(now - begun) / 60:5.1f} min step {step} {seen / 1e6:.2f}M tokens ({(seen - first) / (now - begun):.0f}/s, {(seen - first) / time.process_time():.0f} a core's second) {shares}", flush=True)
            window = {}
            if now - saved > 300:
                save("checkpoint.pt")
                saved = now
    save("final.pt")


if __name__ == "__main__":
    main()
