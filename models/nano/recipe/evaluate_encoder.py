"""What the encoder points at: `python evaluate_encoder.py CHECKPOINT TOKENIZER_FOLDER asked.jsonl > pointed.jsonl`."""

import json
import sys

import torch
from tokenizers import Tokenizer

from compact import read
from encoder import Encoder, answer, encode, pack


def main(checkpoint, folder, path):
    torch.set_num_threads(1)
    state = read(checkpoint)
    model = Encoder(state["config"]["model"])
    model.load_state_dict(state["model"])
    model.quantise("--4bit" in sys.argv)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    for line in open(path):
        example = json.loads(line)
        e = encode(tokenizer, example)
        batch = {**pack([e]), "encoded": [e]}
        offsets = tokenizer.encode(example["text"]).offsets
        made = answer(model, batch, [example])[0]
        for one in made:
            if "spans" in one:
                one["spans"] = [(offsets[s - e["base"]][0], offsets[t - e["base"]][1], *sure) for s, t, *sure in one["spans"]]
        print(json.dumps(made))


if __name__ == "__main__":
    main(*sys.argv[1:4])
