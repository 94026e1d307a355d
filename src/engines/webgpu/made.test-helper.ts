/** GGUF files of decoders that were made for decisions, with a vocabulary that knows their words. */
import { expect } from 'vitest'
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { byteLevelOf, write } from '../../../scripts/tokenizers/vocabulary.js'
import type { Case, GgufTensor } from '../../../test/oracles/family.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { Tokenizer } from '../../generate/tokenizer/tokenizer.js'
import { createV1, type V1 } from '../../index.js'
import { openRepository } from '../../models/files/open.js'
import { webgpu } from './index.js'

export interface MadeUp {
  readonly of: Case
  readonly type: string
  readonly template: string | undefined
  /** What its vocabulary is learned from. */
  readonly texts: readonly string[]
  /** Control tokens beside the usual ones. */
  readonly controls?: readonly string[]
  readonly tensors?: readonly GgufTensor[]
  metadata(out: Metadata): void
}

const CONTROL = 3

export function writeMade(path: string, made: MadeUp): Promise<void> {
  const { of, type, template, texts, controls = [], tensors = [], metadata } = made
  const { gguf, config } = of
  const size = config.vocab_size
  const words = (out: Metadata) => {
    const { tokens, kinds, merges } = byteLevelOf([...texts, ...texts], size - 300 - controls.length)
    const more = Array.from({ length: size - tokens.length - controls.length }, (_, i) => `unused-${i}`)
    write(out, 'gpt2', {
      tokens: [...tokens, ...more, ...controls],
      kinds: [...kinds, ...more.map(() => 1), ...controls.map(() => CONTROL)],
      merges,
    })
    out.text('tokenizer.ggml.pre', 'qwen2')
  }
  const described = {
    ...of,
    gguf: {
      ...gguf!,
      words,
      metadata: (out: Metadata) => {
        gguf!.metadata(out)
        out.text(`${gguf!.architecture}.decision.type`, type)
        metadata(out)
        if (template !== undefined) out.text('tokenizer.chat_template.systemone', template)
      },
      tensors: (weights: Parameters<NonNullable<Case['gguf']>['tensors']>[0]) => [
        ...gguf!.tensors(weights),
        ...tensors,
      ],
    },
  }
  return writeGguf(path, described, weightsOf(of))
}

/** Written to `path`, and served from there as `test/model`. */
export async function serveMade(path: string, made: MadeUp): Promise<{ v1: V1; tokenizer: Tokenizer }> {
  await writeMade(path, made)
  const models = [{ id: 'test/model', from: path }]
  const engine = webgpu({ models, device: 'cpu', threads: 1, worker: false, log: () => {} })
  return { v1: createV1({ engine, keys: 'none' }), tokenizer: await tokenizerOf(path) }
}

export async function tokenizerOf(path: string): Promise<Tokenizer> {
  const options = { report: () => {}, signal: new AbortController().signal } as const
  const { text } = await openRepository({ kind: 'folder', path }, options)
  return new Tokenizer(text.tokenizer, text.tokenizerConfig)
}

/** Asks in TypeSafe's form, or in OpenAI's. */
export const asking =
  (v1: () => V1, state: string) =>
  async (questions: object, more: object = {}, path = '/systemone') => {
    const stateField = path === '/systemone' ? { state } : { input: state }
    const body = JSON.stringify({ model: 'test/model', ...stateField, questions, ...more })
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const response = await v1().fetch(new Request(`http://127.0.0.1/v1${path}`, init))
    return { status: response.status, body: await response.json() }
  }

export function softmax(scores: readonly number[]): number[] {
  const most = Math.max(...scores)
  const all = scores.map((score) => Math.exp(score - most))
  const sum = all.reduce((total, one) => total + one, 0)
  return all.map((one) => one / sum)
}

export function expectNear(actual: readonly number[], truth: readonly number[], within = 1e-4): void {
  expect(actual).toHaveLength(truth.length)
  for (const [i, share] of truth.entries()) expect(Math.abs(actual[i]! - share)).toBeLessThan(within)
}
