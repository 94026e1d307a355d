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

from compact import read as restore
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
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n and "scalars" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim == 1 or "embed" in n or "scalars" in n or "told" in n]
    muon = Muon(matrices, 0.02 * o.rate)
    adam = torch.optim.AdamW(others, lr=2e-3 * o.rate, betas=(0.9, 0.95), weight_decay=0.0)
    if state and "last" in state:
        muon.buffers = state["muon"]
        adam.load_state_dict(state["adam"])
    tokenizer = Tokenizer.from_file(f"{o.tokenizer}/tokenizer.json")
    examples = [e for path in o.data for e in read(path, tokenizer, o.longest)]
    mean = {n: p.detach().clone() for n, p in model.named_parameters()}
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(examples)} examples", flush=True)
    begun = saved = time.time()
    progress = lambda: 1.0 if o.stop and os.path.exists(o.stop) else min(1.0, (time.time() - begun) / 60 / o.minutes)
    refill = Examples(o, tokenizer, len(examples)) if o.refill else None
    source = batches(examples, o.batch_tokens, rng, lambda n: refill.more(n, examples) if refill else None)
    step, seen = 0, state.get("seen", 0) if state else 0
    first = seen
    window = {}

    def save(name):
        path = f"{o.out}/{name}"
        kept = {"model": mean, "last": model.state_dict(), "muon": muon.buffers, "adam": adam.state_dict(), "config": config, "seen": seen}
        torch.save(kept, path + ".part")
        os.replace(path + ".part", path)

    while progress() < 1:
        group = next(source)
        batch = pack(group)
        done = progress()
        if not model.quantised and done > 1 - o.quantised:
            save("before-quantisation.pt")
            model.quantise(True)
            print("4-bit from here", flush=True)
        scale = min(1, (step + 1) / 40) * min(1, max(0.02, (1 - done) / max(1e-9, 1 - o.hold)))
        total, parts = loss_of(model, batch, torch.bfloat16)
        descend(model, total, adam, others, muon, 2e-3 * o.rate, scale)
        step += 1
        seen += sum(len(e["tokens"]) for e in group)
        keep = min(o.ema, (step + 1) / (step + 10))
        with torch.no_grad():
            for n, p in model.named_parameters():
                mean[n].lerp_(p, 1 - keep)
        for name, (right, count) in {**parts, "loss": (total.item(), 1)}.items():
            a, b = window.get(name, (0, 0))
            window[name] = (a + right, b + count)
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
