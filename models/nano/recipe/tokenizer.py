"""Trains the byte-level BPE: `python tokenizer.py DATA.jsonl OUT_FOLDER VOCAB`.

A space, a digit and a punctuation mark are always tokens of their own and words never carry their space, so that a value
between quotes has the very tokens that it has in the text: to extract is to copy."""

import json
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
SPLIT = r"\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{L}|[^\p{L}]"
TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def texts(path):
    with open(path) as file:
        for number, line in enumerate(file):
            if number % 8 == 0:
                example = json.loads(line)
                yield example["system"]
                yield example["user"]


def main(data, out, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts(data), trainer)
    tokenizer.save(f"{out}/tokenizer.json")
    with open(f"{out}/tokenizer_config.json", "w") as file:
        json.dump(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": 1024,
                "eos_token": SPECIAL[0],
                "pad_token": SPECIAL[0],
                "clean_up_tokenization_spaces": False,
                "chat_template": TEMPLATE,
            },
            file,
            indent=2,
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
