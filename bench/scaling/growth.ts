/** Steps to the limits, and what is printed of each. */
import { FAMILIES } from '../../src/bench/families.js'
import type { BenchReport } from '../../src/bench/report.js'
import { SHAPES } from '../../src/bench/shapes.js'
import { figure } from '../../src/bench/table.js'
import { type Costs, predict } from './fit.js'
import { decodeWork, promptWork, type WindowedShape } from './work.js'

export interface Step {
  readonly group: 'context' | 'batch' | 'vocabulary'
  /** Within a group, what grows together. */
  readonly of: string
  readonly shape: string
  readonly context: number
  readonly batch: number
}

/** Of each answer whose speed is measured. */
export const TOKENS = 16
const CHUNK = 64
const CONTEXTS = [512, 2048, 8192, 32_000]
const BATCHES = [1, 4, 8, 16]
/** From 4,096 words to 262,144; what else they have differs too, as of models that people run. */
const WORDS = ['nano-like', 'SmolLM2-135M-like', 'Qwen2.5-0.5B-like', 'Gemma-3-270M-like']

export function stepsOf(quick: boolean): Step[] {
  const contexts = quick ? CONTEXTS.slice(0, 2) : CONTEXTS
  const batches = quick ? BATCHES.slice(0, 2) : BATCHES
  return [
    ...['nano-like', 'stories15M-like', 'Gemma-3-270M-like'].flatMap((shape) =>
      contexts.map((context): Step => ({ group: 'context', of: shape, shape, context, batch: 1 })),
    ),
    ...['nano-like', 'SmolLM2-135M-like'].flatMap((shape) =>
      batches.map((batch): Step => ({ group: 'batch', of: shape, shape, context: 128, batch })),
    ),
    ...WORDS.map((shape): Step => ({ group: 'vocabulary', of: '', shape, context: 128, batch: 1 })),
  ]
}

/** Seconds of a prompt and of a step of all answers. */
export interface Seconds {
  readonly prompt: number
  readonly step: number
}

export function measuredOf({ series }: BenchReport): Seconds {
  const prompt = series.find(({ metric }) => metric === 'first-token')
  const decode = series.find(({ metric }) => metric === 'decode')
  if (!prompt || !decode) throw new Error('Its context is shorter than what was asked of it.')
  return { prompt: prompt.median / 1000, step: decode.batch! / decode.median }
}

/** Also of a Gemma, which counts as any other shape but for the windows of most of its layers. */
export function shapeOf(name: string): WindowedShape {
  const known = SHAPES[name]
  if (known) return known
  const { config } = FAMILIES[name]!()
  const number = (key: string) => Number(config[key])
  const layers = number('num_hidden_layers')
  return {
    ...{ hidden: number('hidden_size'), inner: number('intermediate_size'), layers, vocabulary: number('vocab_size') },
    ...{ heads: number('num_attention_heads'), keyHeads: number('num_key_value_heads'), headSize: number('head_dim') },
    // Every sixth looks at all.
    windows: { layers: layers - Math.floor(layers / 6), positions: number('sliding_window') },
  }
}

function predicted({ shape: name, context, batch }: Step, costs: Costs): Seconds {
  const shape = shapeOf(name)
  const step = predict(costs, decodeWork(shape, context, batch, TOKENS)) / TOKENS
  return { prompt: predict(costs, promptWork(shape, context, CHUNK)), step }
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
const TITLES = ['grows', 'shape', 'vocabulary', 'context', 'batch', 'prompt, ms', 'x first', 'predicted']
export const HEAD = [row([...TITLES, 'step, ms', 'x first', 'predicted']), `|---|---|${'--:|'.repeat(9)}`].join('\n')

interface Found {
  readonly step: Step
  readonly measured: Seconds
}

export function lineOf({ step, measured }: Found, first: Found, costs: Costs): string {
  const [now, before] = [predicted(step, costs), predicted(first.step, costs)]
  const cells = (['prompt', 'step'] as const).flatMap((what) => [
    figure(1000 * measured[what]),
    (measured[what] / first.measured[what]).toFixed(2),
    (now[what] / before[what]).toFixed(2),
  ])
  const { group, shape, context, batch } = step
  return row([group, shape, String(shapeOf(shape).vocabulary), String(context), `${batch}`, ...cells])
}
