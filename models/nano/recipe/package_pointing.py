"""Adds what points to a packaged model: `python package_pointing.py CHECKPOINT MODEL_FOLDER OUT_FOLDER`.

Of the checkpoint those tensors alone that are not the decoder's; the others are the package's own."""

import hashlib
import json
import os
import shutil
import sys

import numpy as np
import torch

from compact import read
from package_mlc import quantise, write


def tensors(model):
    """Under the names that the service reads."""
    for name, value in model.items():
        array = value.float().numpy()
        stem = name.removesuffix(".weight")
        if name.endswith((".into", ".out")) or name.startswith("heads."):
            packed, scale = quantise(array)
            yield f"pointing.{stem}.q_weight", packed
            yield f"pointing.{stem}.q_scale", scale
        elif name.endswith("layernorm.weight") or name in ("norm.weight", "out.weight"):
            yield f"pointing.{name}", array.astype(np.float16)
        elif name == "scalars.weight":
            yield "pointing.nothings", array.reshape(-1).astype(np.float16)
        elif name == "told":
            yield "pointing.said", array.astype(np.float16)


def main(checkpoint, folder, out):
    state = read(checkpoint)
    config = state["config"]["model"]
    cache = json.load(open(f"{folder}/tensor-cache.json"))
    [shard] = cache["records"]
    data = bytearray(open(f"{folder}/{shard['dataPath']}", "rb").read())
    records = [r for r in shard["records"] if not r["name"].startswith("pointing.")]
    del data[max(r["byteOffset"] + r["nbytes"] for r in records) :]
    for name, array in tensors(state["model"]):
        raw = array.tobytes()
        records.append({"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "format": "raw", "nbytes": len(raw), "byteOffset": len(data)})
        data += raw
    shard |= {"records": records, "nbytes": len(data), "md5sum": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    cache["metadata"] |= {"ParamSize": len(records), "ParamBytes": len(data)}
    chat = json.load(open(f"{folder}/mlc-chat-config.json"))
    chat["pointing"] = {"rank": config["rank"], "head_size": config["head_size"]}
    os.makedirs(out, exist_ok=True)
    if not os.path.samefile(folder, out):
        shutil.copytree(folder, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("recipe", "eval"))
    with open(f"{out}/{shard['dataPath']}", "wb") as file:
        file.write(data)
    for name in ("tensor-cache.json", "ndarray-cache.json"):
        write(f"{out}/{name}", cache, None)
    write(f"{out}/mlc-chat-config.json", chat, 2)
    print(f"{len(data)} bytes of weights in {out}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
