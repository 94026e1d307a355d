"""A checkpoint small enough to be kept: `python compact.py IN.pt OUT.pt` writes its weights in 8 bits, a scale for each 32."""

import sys

import torch

GROUP = 32
# The reader of torch 1 that executes nothing knows no floats; what is read here, one has made oneself.
SAFE = not torch.__version__.startswith("1.")


def shrunk(weight):
    if weight.ndim < 2 or weight.shape[1] % GROUP:
        return weight.half()
    groups = weight.float().reshape(weight.shape[0], -1, GROUP)
    scale = (groups.abs().amax(-1) / 127).clamp_min(1e-8).half()
    return {"codes": (groups / scale.float()[..., None]).round().clamp(-127, 127).to(torch.int8), "scale": scale}


def grown(kept):
    if not isinstance(kept, dict):
        return kept.float()
    return (kept["codes"].float() * kept["scale"].float()[..., None]).flatten(1)


def read(path):
    """Any checkpoint; of a compact one the weights alone."""
    state = torch.load(path, weights_only=SAFE)
    return {**state, "model": {name: grown(kept) for name, kept in state["model"].items()}}


def main(source, out):
    state = torch.load(source, weights_only=SAFE)
    model = {name: shrunk(weight) for name, weight in state["model"].items()}
    torch.save({"model": model, "config": state["config"], "seen": state.get("seen", 0)}, out)


if __name__ == "__main__":
    main(*sys.argv[1:3])
