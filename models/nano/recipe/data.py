"""Examples as token ids with the weight of each in the loss."""

import json
import os

import numpy as np
from tokenizers import Tokenizer

END, SYSTEM, USER, ASSISTANT = range(4)
FORCED, FREE, CHOICE, PROSE = 0.1, 1.0, 4.0, 0.2


def prompt_of(tokenizer, system, user):
    ids = [SYSTEM] + tokenizer.encode(system).ids if system else []
    return ids + [USER] + tokenizer.encode(user).ids + [ASSISTANT]


def encode(tokenizer, example):
    """Ids, and per id how much its prediction counts: 0 in the prompt, little where the grammar decides."""
    if "prose" in example:
        ids = tokenizer.encode(example["prose"]).ids
        return ids, [0.0] + [PROSE] * (len(ids) - 1)
    ids = prompt_of(tokenizer, example["system"], example["user"])
    weights = [0.0] * len(ids)
    for outer, part in enumerate(example["answer"].split("\u0001")):
        pieces = part.split("\u0002")
        for inner, text in enumerate(pieces):
            made = tokenizer.encode(text).ids
            ids += made
            free = outer > 0 and inner == 0
            weights += [FREE if free else FORCED] * len(made)
            if free and made:
                # Where a value begins is the choice among all spans of the text: the hard part, so it counts most.
                begins = 1 if text.startswith('"') else 2 if text.startswith('["') else 0
                weights[len(weights) - len(made) + min(begins, len(made) - 1)] = CHOICE
    # Nothing but the model ends plain talk: where it ends is a choice, and one that is asked for in one place only.
    ends = FORCED if example["answer"].endswith("}") else FREE if example.get("decision") else CHOICE
    return ids + [END], weights + [ends]


def read(path, tokenizer, longest):
    ids, weights = [], []
    with open(path) as file:
        for line in file:
            i, w = encode(tokenizer, json.loads(line))
            if len(i) <= longest:
                ids.append(np.array(i, np.int16))
                weights.append(np.array(w, np.float32))
    return ids, weights


def load(paths, folder, longest):
    """Encoded examples, kept beside the first file for the next run."""
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    kept = f"{paths[0]}.{longest}.npz"
    if os.path.exists(kept) and os.path.getmtime(kept) > os.path.getmtime(f"{folder}/tokenizer.json"):
        saved = np.load(kept)
        ends = np.cumsum(saved["lengths"])[:-1]
        return tokenizer, np.split(saved["ids"], ends), np.split(saved["weights"].astype(np.float32), ends)
    ids, weights = [], []
    for path in paths:
        for all_of, new in zip((ids, weights), read(path, tokenizer, longest)):
            all_of += new
    lengths = np.array([len(i) for i in ids])
    np.savez(kept, ids=np.concatenate(ids), weights=np.concatenate(weights).astype(np.float16), lengths=lengths)
    return tokenizer, ids, weights
