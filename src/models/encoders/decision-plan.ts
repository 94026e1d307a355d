/** The head of a decision model as its files describe it, in the words of Laya's `rl_agent_config.json`. */
import type { DecisionForm } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { Fields } from '../architectures/fields.js'
import type { WeightOutline } from '../files/source.js'
import type { PlannedMatrix } from '../planned.js'
import { refuse } from '../refuse.js'
import { EncoderTensors, type PlannedNorm } from './plan-encoder.js'
import type { VectorPlan } from './vector-plan.js'

/** Of PyTorch's norms, unless they are told otherwise. */
export const HEAD_EPSILON = 1e-5

export interface DecisionPlan extends DecisionForm {
  readonly type: 'laya' | 'lfm2-d1-omni'
  readonly layers: number
  /** Tokens in all that it was made for; absent: as many as its encoder. */
  readonly most?: number
}

const KINDS = ['choice', 'score', 'noul'] as const
/** Settings that change how a head is used, and the one value that is known of each. */
const USUAL: Readonly<Record<string, unknown>> = { readout: 'marker', option_attention: 'full', parallel_layout: false }

export function readDecision(config: JsonObject, name: string): DecisionPlan {
  const fields = new Fields(name, config)
  for (const [key, usual] of Object.entries(USUAL)) {
    const value = fields.get(key) ?? usual
    if (value !== usual) throw fields.odd(key, value)
  }
  const temperatures: Record<string, number> = {}
  const each = fields.list('temperature', KINDS.length) ?? []
  each.forEach((value, i) => {
    if (typeof value !== 'number' || !(value > 0)) throw fields.odd('temperature', each)
    temperatures[KINDS[i]!] = value
  })
  const most = fields.limit('max_len')
  const template = fields.get('systemone')
  return {
    type: fields.word('type', ['laya', 'lfm2-d1-omni'] as const, 'laya'),
    layers: fields.count('head_layers', 2),
    headTokens: fields.count('head_max_len', 192),
    temperatures: { ...temperatures, ...readTemperatures(fields, config) },
    ...(most !== undefined && { most }),
    ...(typeof template === 'string' && { template }),
  }
}

/** Those that hang on how many options there are. */
export function readTemperatures(fields: Fields, config: JsonObject): Record<string, number> {
  const grouped = fields.part('temperature_by_options')
  const keys = Object.keys((config.temperature_by_options as JsonObject | undefined) ?? {})
  return Object.fromEntries(keys.map((key) => [key, grouped!.number(key)]))
}

export interface PlannedDecision {
  readonly kinds: PlannedMatrix
  readonly layers: readonly {
    readonly norm: PlannedNorm
    readonly qkv: PlannedMatrix
    readonly output: PlannedMatrix
    readonly innerNorm: PlannedNorm
    readonly inner: PlannedMatrix
    readonly down: PlannedMatrix
  }[]
}

/** Its second head, which tells whether to act, is told by no interface; temperatures are in its configuration. */
export const IDLE_DECISION = /^act_head\.|^temperature$/
/** Tensors of the head, by their whole names. */
const HEAD = /^(type_emb|head\.layers|scorer)\./

/** The head and the reader of its marks, of a model whose other tensors are found elsewhere: those are `trunk`. */
export function planDecisionApart(outline: WeightOutline, plan: DecisionPlan, vectors: VectorPlan, hidden: number) {
  const named = (of: (name: string) => boolean) => ({ ...outline, names: outline.names.filter(of) })
  const tensors = new EncoderTensors(
    named((name) => HEAD.test(name)),
    '',
    false,
  )
  const planned = {
    decision: planDecision(tensors, plan, hidden),
    dense: tensors.dense(vectors),
    pooled: tensors.norm(vectors.norm!.name, hidden, { whole: true }),
    trunk: named((name) => !HEAD.test(name)),
  }
  tensors.assertAllUsed()
  return planned
}

export function planDecision(tensors: EncoderTensors, { layers }: DecisionPlan, hidden: number): PlannedDecision {
  const matrix = (name: string, rows: number, columns: number) => tensors.matrix([name], rows, columns, { whole: true })
  const norm = (name: string) => tensors.norm(name, hidden, { whole: true })
  return {
    kinds: tensors.matrix(['type_emb'], KINDS.length, hidden, { table: true, whole: true }),
    layers: Array.from({ length: layers }, (_, i) => {
      const at = `head.layers.${i}`
      return {
        norm: norm(`${at}.norm1`),
        qkv: matrix(`${at}.self_attn.in_proj`, 3 * hidden, hidden),
        output: matrix(`${at}.self_attn.out_proj`, hidden, hidden),
        innerNorm: norm(`${at}.norm2`),
        inner: matrix(`${at}.linear1`, 4 * hidden, hidden),
        down: matrix(`${at}.linear2`, hidden, 4 * hidden),
      }
    }),
  }
}

/** Rows at the marks, through a norm and a layer, to a score each. */
export function scorer(hidden: number, most: number): VectorPlan {
  const shape = { columns: hidden, bias: true, tanh: false }
  return {
    pool: 'last',
    norm: { name: 'scorer.0', epsilon: HEAD_EPSILON },
    dense: [
      { ...shape, name: 'scorer.1', rows: hidden, gate: 'gelu_erf' },
      { ...shape, name: 'scorer.3', rows: 1 },
    ],
    size: 1,
    most,
  }
}

/** PyTorch's heads have 64 values each; those of the encoder may not. */
export function assertHeads(hidden: number, heads: number, name: string): void {
  const own = Math.max(1, Math.floor(hidden / 64))
  if (own !== heads) throw refuse(name, `a head of ${own} heads over an encoder of ${heads}`)
}
