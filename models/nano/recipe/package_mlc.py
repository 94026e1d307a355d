"""Writes a checkpoint as an MLC repository: `python package_mlc.py CHECKPOINT TOKENIZER_FOLDER OUT [--q0f16]`."""

import hashlib
import json
import shutil
import sys

import numpy as np
import torch

GROUP = 32


def quantise(weight):
    """q4f16_1: eight nibbles in a word, the lowest first; a group of 32 shares an f16 scale; value = (nibble - 7) * scale."""
    rows, columns = weight.shape
    groups = weight.astype(np.float32).reshape(rows, columns // GROUP, GROUP)
    scale = np.maximum((np.abs(groups).max(axis=-1) / 7).astype(np.float16).astype(np.float32), 1e-8)
    nibbles = np.clip(np.rint(groups / scale[..., None]), -7, 8) + 7
    words = nibbles.astype(np.uint32).reshape(rows, columns // 8, 8)
    packed = (words << (4 * np.arange(8, dtype=np.uint32))).sum(axis=-1, dtype=np.uint32)
    return packed, scale.astype(np.float16)


def tensors(state, four_bits):
    for name, value in state.items():
        array = value.float().numpy()
        name = f"model.{name}"
        if array.ndim == 2 and four_bits:
            packed, scale = quantise(array)
            stem = name.removesuffix(".weight")
            yield f"{stem}.q_weight", packed
            yield f"{stem}.q_scale", scale
        else:
            yield name, array.astype(np.float16)


def main(checkpoint, tokenizer, out, four_bits):
    saved = torch.load(checkpoint, weights_only=True, map_location="cpu")
    package(saved, tokenizer, out, four_bits)


def package(saved, tokenizer, out, four_bits):
    config = saved["config"]["model"]
    shard, records = bytearray(), []
    for name, array in tensors(saved["model"], four_bits):
        data = array.tobytes()
        records.append(
            {
                "name": name,
                "shape": list(array.shape),
                "dtype": str(array.dtype),
                "format": "raw",
                "nbytes": len(data),
                "byteOffset": len(shard),
            }
        )
        shard += data
    with open(f"{out}/params_shard_0.bin", "wb") as file:
        file.write(shard)
    cache = {
        "metadata": {"ParamSize": len(records), "ParamBytes": len(shard), "BitsPerParam": 4.5 if four_bits else 16},
        "records": [
            {
                "dataPath": "params_shard_0.bin",
                "format": "raw-shard",
                "nbytes": len(shard),
                "records": records,
                "md5sum": hashlib.md5(shard).hexdigest(),
                "sha256": hashlib.sha256(shard).hexdigest(),
            }
        ],
    }
    for name in ("tensor-cache.json", "ndarray-cache.json"):
        write(f"{out}/{name}", cache, None)
    shape = {k: v for k, v in config.items() if k not in ("rope_theta", "context_window_size")}
    write(
        f"{out}/mlc-chat-config.json",
        {
            "version": "0.1.0",
            "model_type": "llama",
            "cpu_cache_type": "q8_0",
            "quantization": "q4f16_1" if four_bits else "q0f16",
            "model_config": {
                **shape,
                "hidden_act": "silu",
                "position_embedding_base": config["rope_theta"],
                "context_window_size": config["context_window_size"],
                "prefill_chunk_size": min(1024, config["context_window_size"]),
                "tie_word_embeddings": True,
                "tensor_parallel_shards": 1,
                "max_batch_size": 8,
            },
            "vocab_size": config["vocab_size"],
            "context_window_size": config["context_window_size"],
            "sliding_window_size": -1,
            "prefill_chunk_size": min(1024, config["context_window_size"]),
            "temperature": 0,
            "top_p": 1,
            # Without it one talk in twelve never ends: it says the same word for ever.
            "repetition_penalty": 1.2,
            "tokenizer_files": ["tokenizer.json", "tokenizer_config.json"],
            "conv_template": {
                "name": "nano",
                "system_template": "<|system|>{system_message}",
                "system_message": "",
                "roles": {"user": "<|user|>", "assistant": "<|assistant|>"},
                "seps": ["", "<|end|>"],
                "role_content_sep": "",
                "role_empty_sep": "",
                "stop_str": ["<|end|>"],
                "stop_token_ids": [0],
                "add_role_after_system_message": True,
            },
            "pad_token_id": 0,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
        2,
    )
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(f"{tokenizer}/{name}", f"{out}/{name}")
    print(f"{len(shard)} bytes of weights in {out}")


def write(path, value, indent):
    with open(path, "w") as file:
        json.dump(value, file, indent=indent, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:4], "--q0f16" not in sys.argv)
