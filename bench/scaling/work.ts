/** What a model of some shape has to do for its tokens: counted, not measured. */
import type { ModelShape } from '../../src/bench/shapes.js'

/** Bytes of a 4-bit weight with its share of a scale: half a byte, and two for every 32. */
const BYTES_PER_WEIGHT = 0.5 + 2 / 32
/**
 * Operations that a pass gives to a GPU, as `npm run bench:profile -- --kernels hardware` counts them: four products and
 * attention in two steps per layer, in a prompt also two norms and the placing of keys less that second step of attention,
 * and embedding, head and two of sampling. A CPU takes about as many.
 */
const OPERATIONS = { perLayer: 6, perPromptLayer: 8, perPass: 4 }

/** Devices multiply longer passes in another way: in tiles. */
const FEW_ROWS = 8

/** One reason why an answer takes time. Each has its cost on a device; the whole is their sum. */
export const REASONS = {
  answers: 'prompt, tokenizer and queue, per answer',
  operations: 'starting an operation on the device',
  weightBytes: 'reading a byte of weights',
  products: 'multiplying a weight by a value, in passes of few rows',
  promptProducts: 'multiplying a weight by a value, in passes of many rows',
  cacheBytes: 'reading a byte of keys and values',
  attention: 'multiplying a query by a cached value',
  logits: 'sampling, per token of the vocabulary',
} as const
export type Reason = keyof typeof REASONS
export type Work = Readonly<Record<Reason, number>>

/** Weights of the layers, and of the head. */
export function weightsOf({ hidden, inner, layers, heads, keyHeads, headSize, vocabulary }: ModelShape) {
  const layer = hidden * ((2 * heads + 2 * keyHeads) * headSize + 3 * inner)
  return { layers: layers * layer, head: vocabulary * hidden }
}

export function weightBytes(shape: ModelShape): number {
  const { layers, head } = weightsOf(shape)
  return (layers + head) * BYTES_PER_WEIGHT
}

/** Keys and values of one token, in f16. */
export function cacheBytesPerToken({ layers, keyHeads, headSize }: ModelShape): number {
  return 2 * layers * keyHeads * headSize * 2
}

/** What rows of a pass need of the positions before them, in one layer. */
interface Looking {
  /** Positions that all rows together look back at. */
  readonly lookedAt: number
  /** Positions whose keys and values are read: rows of one prompt share them. */
  readonly read: number
}

export interface Pass {
  /** Tokens that go through the layers. */
  readonly rows: number
  /** Tokens that are drawn. */
  readonly drawn: number
  /** Of a layer that looks back at no more than so many positions. */
  looking(window: number): Looking
}

/** A shape of which some layers look back at a few positions alone. */
export interface WindowedShape extends ModelShape {
  readonly windows?: { readonly layers: number; readonly positions: number }
}

function workOfPass(shape: WindowedShape, { rows, drawn, looking }: Pass): Work {
  const { layers, head } = weightsOf(shape)
  const { layers: few, positions } = shape.windows ?? { layers: 0, positions: 0 }
  const [all, near] = [looking(Number.POSITIVE_INFINITY), looking(positions)]
  const ofLayers = (what: keyof Looking) => (shape.layers - few) * all[what] + few * near[what]
  return {
    answers: 0,
    operations: (rows > FEW_ROWS ? OPERATIONS.perPromptLayer : OPERATIONS.perLayer) * shape.layers + OPERATIONS.perPass,
    weightBytes: (layers + (drawn > 0 ? head : 0)) * BYTES_PER_WEIGHT,
    products: (rows > FEW_ROWS ? 0 : layers * rows) + head * drawn,
    promptProducts: rows > FEW_ROWS ? layers * rows : 0,
    cacheBytes: (ofLayers('read') / shape.layers) * cacheBytesPerToken(shape),
    attention: 2 * ofLayers('lookedAt') * shape.heads * shape.headSize,
    logits: drawn * shape.vocabulary,
  }
}

/** `batch` answers of `tokens` tokens, each behind a prompt of `context` tokens that is in the cache. */
export function decodeWork(shape: WindowedShape, context: number, batch: number, tokens: number): Work {
  const passes = Array.from({ length: tokens }, (_, i) => {
    const looking = (window: number) => {
      const lookedAt = batch * Math.min(window, context + i)
      return { lookedAt, read: lookedAt }
    }
    return workOfPass(shape, { rows: batch, drawn: batch, looking })
  })
  return sum([...passes, { ...NOTHING, answers: batch }])
}

/** One prompt of `tokens` tokens, in chunks, and its first token. */
export function promptWork(shape: WindowedShape, tokens: number, chunk: number): Work {
  const passes: Work[] = []
  for (let from = 0; from < tokens; from += chunk) {
    const rows = Math.min(chunk, tokens - from)
    const drawn = from + rows === tokens ? 1 : 0
    const looking = (window: number) => {
      // The first rows may see all that is before them, and those that do not see the window.
      const whole = Math.max(0, Math.min(rows, window - from))
      const lookedAt = whole * (from + (whole + 1) / 2) + (whole < rows ? (rows - whole) * window : 0)
      return { lookedAt, read: Math.min(from + rows, window + rows - 1) }
    }
    passes.push(workOfPass(shape, { rows, drawn, looking }))
  }
  return sum([...passes, { ...NOTHING, answers: 1 }])
}

const NOTHING = Object.fromEntries(Object.keys(REASONS).map((reason) => [reason, 0])) as Record<Reason, number>

function sum(works: readonly Work[]): Work {
  const total = { ...NOTHING }
  for (const work of works) for (const reason of Object.keys(REASONS) as Reason[]) total[reason] += work[reason]
  return total
}

/**
 * A document of `tokens` tokens of which the grammar decides a share: those ride along in the passes of the others, and
 * none of them is drawn.
 */
export function documentWork(shape: ModelShape, context: number, tokens: number, decided: number): Work {
  const drawn = Math.max(1, Math.round(tokens * (1 - decided)))
  const rows = tokens / drawn
  const passes = Array.from({ length: drawn }, (_, i) =>
    workOfPass(shape, {
      ...{ rows, drawn: 1 },
      looking: () => ({ lookedAt: rows * (context + i * rows), read: context + i * rows }),
    }),
  )
  return sum([...passes, { ...NOTHING, answers: 1 }])
}
