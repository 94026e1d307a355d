"""Grows a checkpoint: `python grow.py CHECKPOINT CONFIG OUT`, to more layers and wider MLPs of the same width.

The grown model says at first exactly what the small one said: what is new adds nothing to the stream, because the
matrices that write its results begin as zeros. What reads is copied from the layer before, or drawn at random, so
that there is something to learn from in the first step. The optimiser starts anew."""

import json
import os
import sys

import torch

from model import Model


def places(old, new):
    """For each new layer, the old layer that it is or copies, and whether it is the old one. Later layers are doubled first."""
    doubled = set(range(max(0, 2 * old - new), old))
    plan = []
    for i in range(old):
        plan.append((i, True))
        if i in doubled:
            plan.append((i, False))
    if len(plan) != new:
        raise SystemExit(f"{old} layers can grow to at most {2 * old}, not to {new}")
    return plan


def widened(small, large, name):
    """The small matrix in the place that it has in the large one; `gate_up_proj` holds two matrices, one upon the other."""
    grown = large.clone()
    if "gate_up_proj" in name:
        inner, wide = small.shape[0] // 2, large.shape[0] // 2
        grown[:inner], grown[wide : wide + inner] = small[:inner], small[inner:]
    elif "down_proj" in name:
        grown.zero_()
        grown[:, : small.shape[1]] = small
    else:
        grown = small.clone()
    return grown


def main(checkpoint, config, out):
    saved = torch.load(checkpoint, map_location="cpu")
    target = json.load(open(os.path.join(os.path.dirname(__file__), "configs.json")))[config]
    torch.manual_seed(1)
    fresh, old = Model(target["model"]).state_dict(), saved["model"]
    grown = {n: old[n] for n in fresh if not n.startswith("layers.")}
    plan = places(saved["config"]["model"]["num_hidden_layers"], target["model"]["num_hidden_layers"])
    for at, (source, same) in enumerate(plan):
        start = f"layers.{at}."
        for name in (n for n in fresh if n.startswith(start)):
            value = widened(old[f"layers.{source}.{name[len(start):]}"], fresh[name], name)
            adds = "o_proj" in name or "down_proj" in name
            grown[name] = value if same or not adds else torch.zeros_like(value)
    torch.save({"model": grown, "config": target}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
