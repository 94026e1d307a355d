"""What Hugging Face's tokenizers make of texts: ids, without what stands around a text.
With sentencepiece it also trains a vocabulary of XLM-RoBERTa's kind. pip install tokenizers sentencepiece protobuf"""
import base64
import io
import json
import sys
import tempfile

from tokenizers import Tokenizer


def unigram(texts, size, rules):
    """A model and its table of characters, learned from the texts."""
    import sentencepiece
    model = io.BytesIO()
    normal = {"normalization_rule_name": "nmt_nfkc"}
    if rules:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as file:
            file.write(rules + "\n")
        normal = {"normalization_rule_tsv": file.name}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=size, model_type="unigram", hard_vocab_limit=False,
        bos_id=0, pad_id=1, eos_id=2, unk_id=3, character_coverage=0.995, minloglevel=2, **normal)
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = [[marks[i] if i < 4 else piece.piece, piece.score] for i, piece in enumerate(proto.pieces)]
    return {"vocab": vocab, "charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()}


asked = json.load(sys.stdin)
if "train" in asked:
    print(json.dumps(unigram(asked["train"], asked["size"], asked.get("rules"))))
else:
    tokenizer = Tokenizer.from_str(json.dumps(asked["tokenizer"]))
    # Special tokens that a text spells stay text.
    tokenizer.encode_special_tokens = asked.get("plain", False)
    texts = asked["texts"]
    print(json.dumps([one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]))
