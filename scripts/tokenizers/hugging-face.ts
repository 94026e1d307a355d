/**
 * tokenizer.json files of encoders against Hugging Face's own library, in Rust, by way of Python (`pip install tokenizers
 * sentencepiece protobuf -t FOLDER`): WordPiece as BERT has it, and a vocabulary of XLM-RoBERTa's kind, trained on the spot.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { wordPieces } from '../../src/generate/testing/word-pieces.test-helper.js'

const SCRIPT = fileURLToPath(new URL('reference.py', import.meta.url))

/** Asks the library, which is installed in `folder`. */
export function askLibrary<T>(folder: string, question: object): T {
  const { status, stdout, stderr } = spawnSync('python3', [SCRIPT], {
    input: JSON.stringify(question),
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    env: { ...process.env, PYTHONPATH: folder },
  })
  if (status !== 0) throw new Error(`python3 ${SCRIPT} failed: ${stderr.slice(-500)}`)
  return JSON.parse(stdout) as T
}

export interface Unigram {
  readonly vocab: readonly (readonly [piece: string, score: number])[]
  readonly charsmap: string
}

/** In the two forms that models have: as transformers wrote XLM-RoBERTa first, and as it converts SentencePiece now. */
export function unigramTokenizers({ vocab, charsmap }: Unigram): Map<string, object> {
  const precompiled = { type: 'Precompiled', precompiled_charsmap: charsmap }
  const metaspace = { type: 'Metaspace', replacement: '▁' }
  const older = { ...metaspace, add_prefix_space: true, prepend_scheme: 'always' }
  const of = (normalizer: object, pre_tokenizer: object) => ({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [0, 1, 2, 3].map((id) => ({
      ...{ id, content: vocab[id]![0], special: true, normalized: false },
      ...{ single_word: false, lstrip: false, rstrip: false },
    })),
    normalizer,
    pre_tokenizer,
    post_processor: null,
    decoder: { ...metaspace, prepend_scheme: 'always' },
    model: { type: 'Unigram', unk_id: 3, vocab, byte_fallback: false },
  })
  const words = { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, older] }
  const spaces = { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' }
  return new Map([
    ['XLM-R, words apart', of(precompiled, words)],
    [
      'XLM-R, converted',
      of(
        { type: 'Sequence', normalizers: [precompiled, spaces] },
        { ...metaspace, prepend_scheme: 'always', split: true },
      ),
    ],
  ])
}

/** Every kind of encoder's tokenizer, by a name. */
export function encoderTokenizers(folder: string, sample: readonly string[]): Map<string, object> {
  const forms = { BERT: {}, 'BERT, cased': { lowercase: false }, 'BERT, accents kept': { strip_accents: false } }
  return new Map([
    ...Object.entries(forms).map(([name, form]) => [name, wordPieces(form)] as const),
    ...unigramTokenizers(askLibrary<Unigram>(folder, { train: sample, size: 4000 })),
  ])
}
