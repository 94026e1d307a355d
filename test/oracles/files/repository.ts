/** A case as a folder that the hub might have: configuration, tokenizer, weights, and sentence-transformers' files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { EncoderCase } from '../encoders/encoder-case.js'
import { encoderWeights, type Tensors } from '../encoders/source.js'
import { safetensors } from './safetensors.js'

/** Of a case, what is stored of it. */
type Stored = Tensors & Pick<EncoderCase, 'config'> & Partial<Pick<EncoderCase, 'files'>>

export async function writeEncoder(
  of: Stored,
  folder: string,
  tokenizer: object,
  tokenizerConfig: object = { model_max_length: 512 },
): Promise<void> {
  const put = async (name: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  await put('config.json', JSON.stringify(of.config))
  await put('tokenizer.json', JSON.stringify(tokenizer))
  await put('tokenizer_config.json', JSON.stringify(tokenizerConfig))
  for (const [name, content] of Object.entries(of.files ?? {})) await put(name, JSON.stringify(content))
  const weights = encoderWeights(of)
  await put('model.safetensors', safetensors(of.tensors, weights))
  for (const [path, specs] of Object.entries(of.apart ?? {})) {
    await put(`${path}/model.safetensors`, safetensors(specs, weights, 'F32', `${path}/`))
  }
}

/** WordPiece over the made-up words of a case: word 300 is `w300`. */
export function wordsTokenizer({ config }: EncoderCase, marks: readonly string[]): object {
  return wordPiece(
    Array.from({ length: config.vocab_size }, (_, i) => marks[i] ?? `w${i}`),
    marks,
  )
}

/** As BERT's kind has it, `[CLS]` and `[SEP]` around a text; names stand in the order of their ids, the marks first. */
export function wordPiece(names: readonly string[], marks: readonly string[]) {
  const vocab = Object.fromEntries(names.map((name, id) => [name, id]))
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  return {
    version: '1.0',
    added_tokens: marks.map((content, id) => ({ id, content, special: true, normalized: false })),
    normalizer: { type: 'BertNormalizer', lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [special('[CLS]'), { Sequence: { id: 'A', type_id: 0 } }, special('[SEP]')],
      pair: [
        special('[CLS]'),
        { Sequence: { id: 'A', type_id: 0 } },
        special('[SEP]'),
        { Sequence: { id: 'B', type_id: 1 } },
        { SpecialToken: { id: '[SEP]', type_id: 1 } },
      ],
      special_tokens: Object.fromEntries(['[CLS]', '[SEP]'].map((id) => [id, { id, ids: [vocab[id]], tokens: [id] }])),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab,
    },
  }
}
