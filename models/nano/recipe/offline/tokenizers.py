"""Stands in for `tokenizers` where PyPI is out of reach (`PYTHONPATH=offline`): the recipe's byte-level BPE, to encode only."""

import json
import re
import unicodedata

CLASSES = {"Lu": "u", "Ll": "l", "Mn": "m", "Mc": "m", "Me": "m", "Lt": "o", "Lm": "o", "Lo": "o"}
PIECES = re.compile("u?[lm]+|u+(?!l)|[ulo]|.")


def byte_letters():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, more = {b: chr(b) for b in plain}, 0
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + more)
            more += 1
    return letters


class Encoding:
    def __init__(self, ids, offsets):
        self.ids, self.offsets = ids, offsets


class Tokenizer:
    def __init__(self, spec):
        self.vocab = spec["model"]["vocab"]
        self.ranks = {tuple(m if isinstance(m, list) else m.split(" ")): i for i, m in enumerate(spec["model"]["merges"])}
        self.letters, self.known, self.kinds = byte_letters(), {}, {}

    @staticmethod
    def from_file(path):
        with open(path) as file:
            return Tokenizer(json.load(file))

    def kind(self, letter):
        kind = self.kinds.get(letter)
        if kind is None:
            kind = self.kinds[letter] = CLASSES.get(unicodedata.category(letter), "x")
        return kind

    def piece(self, word):
        """Ids of a piece and where each begins and ends, in letters from the piece's first."""
        made = self.known.get(word)
        if made is not None:
            return made
        parts, at = [], []
        for i, letter in enumerate(word):
            for byte in letter.encode():
                parts.append(self.letters[byte])
                at.append((i, i + 1))
        while len(parts) > 1:
            rank, i = min((self.ranks.get((parts[i], parts[i + 1]), 1 << 30), i) for i in range(len(parts) - 1))
            if rank == 1 << 30:
                break
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
            at[i : i + 2] = [(at[i][0], at[i + 1][1])]
        made = self.known[word] = ([self.vocab[p] for p in parts], at)
        return made

    def encode(self, text):
        ids, offsets = [], []
        kinds = "".join(map(self.kind, text))
        for match in PIECES.finditer(kinds):
            start = match.start()
            made, at = self.piece(text[start : match.end()])
            ids += made
            offsets += [(start + a, start + b) for a, b in at]
        return Encoding(ids, offsets)
