"""What Hugging Face's tokenizers (pip install tokenizers) make of texts, for bert.fixture.json:
npx tsx scripts/tokenizers/bert.ts | python3 scripts/tokenizers/bert.py > src/generate/tokenizer/bert.fixture.json"""
import json
import random
import sys

from tokenizers import Tokenizer

random.seed(7)
TEXTS = [
    "Hello world", "hello, WORLD!", "  the cat\tsat\non\r\nthe mat ", "unplayable playing played", "Straße naïve Café CAFÉ café",
    "İstanbul ıI ŞŞ", "ΟΔΟΣ ΣΑΣ άέή ὈΔΥΣΣΕΎΣ", "日本語テキスト 中文字 龍", "\U00020000\U0002a700 x", "가나다라", "don't can’t “quoted”",
    "a\u0000b\ufffdc\u200bd\u200ee\ufefff", "x\u00a0y\u2003z\u3000w\u0085v", "a\u0301\u0302b \u0301c", "ﬁ ﬂ ½ ² ™ ™", "[CLS] hi [SEP] [MASK]", "[cls]", "##ing",
    "a" * 99, "a" * 100, "a" * 101, "é" * 101, "cat" * 40, "mat.cat,dog", "price: $3.50 (50%) #tag @me a_b-c/d\\e|f~g^h`i{j}k",
    "\U0001f600 smile \U0001f468\u200d\U0001f469", "𝐇𝐞𝐥𝐥𝐨", "\u0915\u093f \u0e01\u0e33", "\u1e9e \u01c5 \u0130", "", "   ", "\u0300", "abc\u00adcdef", "ａｂｃ", "\ue000 p", "one\u2028two\u2029three\u000bfour\u000cfive",
]
POOL = list("abc XYZ éÀñ.,!?-_'\"\t\n") + list("日本αΣσςßİж…—€") + ["\u0301", "\u00a0", "\u200d", "\U0001f600", "\U00020001", "[SEP]", " cat ", "ing", "\ufffd", "\u0085", "\u061c", "\u180e", "\u2060"]
TEXTS += ["".join(random.choice(POOL) for _ in range(random.randrange(1, 40))) for _ in range(200)]
out = []
for name, of in json.load(sys.stdin).items():
    tokenizer = Tokenizer.from_str(of["json"])
    texts = TEXTS if name == "plain" else TEXTS[:36] + TEXTS[36:236:4]
    pair = tokenizer.encode("Hello cat", "the dog sat")
    out.append({
        "form": of["form"],
        "cases": [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts],
        "pair": {"texts": ["Hello cat", "the dog sat"], "ids": pair.ids, "types": pair.type_ids},
    })
json.dump(out, sys.stdout, ensure_ascii=True)
