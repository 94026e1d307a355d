/**
 * Writes what Hugging Face's tokenizers make of texts with a small vocabulary of XLM-RoBERTa's kind, for `precompiled.test.ts`:
 * npx tsx scripts/tokenizers/unigram-fixture.ts FOLDER > src/generate/tokenizer/unigram.fixture.json
 */
import process from 'node:process'
import { corpus } from './corpus.js'
import { askLibrary, type Unigram, unigramTokenizers } from './hugging-face.js'

/** Composition, width, ligatures, what becomes a blank, what becomes nothing; of two that begin alike the longer loses. */
const RULES = [
  ...[
    '65 301\tE9',
    '61 308\tE4',
    'FF21\t41',
    'FF22\t42',
    'FB01\t66 69',
    '2026\t2E 2E 2E',
    '2460\t31',
    'AD\t',
    '200B\t',
  ],
  ...['9\t20', 'A\t20', 'D\t20', 'A0\t20', '3000\t20', 'F6\t6F', '6F 302\tF4', '1F600\t3A 29'],
].join('\n')

const folder = process.argv[2]!
const texts = [
  'Plain words, and more words.',
  'cafe\u0301 ma\u0308dchen ro\u0302le',
  'ＡＢ ﬁnd… ① soft\u00adhyphen zero\u200bwidth',
  'a\tb\r\nc\u00a0d\u3000e  f',
  '😀 👩‍👩‍👧‍👦 ❤️ é\u0301\u0301 ',
  '',
  ' ',
  '\u00ad',
  '▁ under ▁▁ bars',
  'ö\u0301x \u00f6\u0301x',
  'a\u0000b',
  ...corpus(60),
]
const learned = askLibrary<Unigram>(folder, { train: corpus(300), size: 1400, rules: RULES })
const kinds = [...unigramTokenizers(learned)].map(([kind, tokenizer]) => ({
  kind,
  tokenizer,
  ids: askLibrary<number[][]>(folder, { tokenizer, texts }),
}))
console.log(JSON.stringify({ texts, kinds }))
