/**
 * A second use of a decoder: it reads a text both ways, with what is asked of it behind the text, and points at the stretch
 * that answers each question. Its matrices are the decoder's; beside some of them stand products of low rank, and norms and
 * heads are its own. This file: what of it a repository has.
 */
import { NOTHINGS, POINTERS } from '../../contract/index.js'
import { Fields } from '../architectures/fields.js'
import type { RawTensor, WeightOutline } from '../files/source.js'
import type { AttentionLayer, GatedPlan, LayerPlan, ModelPlan } from '../model-plan.js'
import type { PlannedMatrix, PlannedVector } from '../planned.js'
import { refuse } from '../refuse.js'

/** Two matrices whose product is added to one of the decoder's: `rank` rows each. */
export interface PlannedAdapter {
  readonly into: PlannedMatrix
  readonly out: PlannedMatrix
}

export interface PlannedPointingLayer {
  readonly norms: Readonly<Record<'attentionNorm' | 'mlpNorm', PlannedVector>>
  readonly adapters: Readonly<Record<'qkv' | 'output' | 'down', PlannedAdapter>>
}

export interface PlannedPointing {
  /** Numbers of each of `POINTERS`. */
  readonly headSize: number
  /** How all layers turn queries and keys. */
  readonly turns: Pick<AttentionLayer, 'angles' | 'headSize'>
  readonly layers: readonly PlannedPointingLayer[]
  /** Before the words that the decoder would say, and before the heads. */
  readonly norm: PlannedVector
  readonly headNorm: PlannedVector
  readonly heads: PlannedMatrix
  readonly nothings: PlannedVector
  /** How much what the decoder would say counts: where a stretch starts, and among options. */
  readonly logitScales: PlannedVector
}

const OWN = /^pointing\./

/** Whether a layer is as those of the model that such heads are taught over. */
const isKnown = (layer: LayerPlan): layer is AttentionLayer & { readonly feedForward: GatedPlan } =>
  layer.kind === 'attention' && layer.feedForward.kind === 'gated'

/** Undefined: the repository has nothing of it. `trunk`: the decoder's own tensors. */
export function planPointing(
  outline: WeightOutline,
  { architecture, hidden, layers, border }: ModelPlan,
  name: string,
): { readonly planned: PlannedPointing; readonly trunk: WeightOutline } | undefined {
  const names = new Set(outline.names.filter((each) => OWN.test(each)))
  const fields = new Fields(name, outline.chatConfig).part('pointing')
  if (names.size === 0 && !fields) return undefined
  if (!fields) throw refuse(name, 'tensors that point without a word about them (pointing)')
  // Of that architecture all layers are alike.
  const known = layers.filter(isKnown)
  const [first] = known
  if (architecture !== 'llama' || border !== undefined || !first)
    throw refuse(name, 'a head that points over layers of another kind')
  const [rank, headSize] = [fields.count('rank'), fields.count('head_size')]
  // What comes out of a factor is multiplied by the other, and devices multiply eight numbers at a time.
  if (rank % 8 !== 0) throw fields.odd('rank', rank)
  const take = (tensor: string, dtype: RawTensor['dtype'], shape: readonly number[]) => {
    if (!names.delete(tensor)) throw refuse(name, `a head that points without its tensor ${tensor}`)
    const stored = outline.describe(tensor)
    const called = (of: Pick<RawTensor, 'dtype' | 'shape'>) => `${of.dtype} [${of.shape.join('][')}]`
    const wanted = called({ dtype, shape })
    if (called(stored) !== wanted) throw refuse(name, `the tensor ${tensor} of ${called(stored)} in place of ${wanted}`)
  }
  const matrix = (of: readonly string[], rows: number, columns: number): PlannedMatrix => {
    const parts = of.map((own) => {
      take(`${own}.q_weight`, 'u32', [rows, columns / 8])
      take(`${own}.q_scale`, 'f16', [rows, columns / 32])
      return { name: own, rows, stored: 'q4' as const }
    })
    return { parts, rows: rows * of.length, columns, scaleType: 'f16', quantize: false }
  }
  const vector = (own: string, length: number): PlannedVector => {
    take(own, 'f16', [length])
    return { parts: [{ name: own, length }], length }
  }
  const adapter = (own: string, inputs: number, outputs: number): PlannedAdapter => ({
    into: matrix([`${own}.into`], rank, inputs),
    out: matrix([`${own}.out`], rank, outputs),
  })
  const planned: PlannedPointing = {
    headSize,
    turns: { angles: first.angles, headSize: first.headSize },
    layers: known.map(({ heads, keyHeads, headSize: size, feedForward }, i): PlannedPointingLayer => {
      const at = `pointing.layers.${i}`
      return {
        norms: {
          attentionNorm: vector(`${at}.input_layernorm.weight`, hidden),
          mlpNorm: vector(`${at}.post_attention_layernorm.weight`, hidden),
        },
        adapters: {
          qkv: adapter(`${at}.self_attn.qkv_proj`, hidden, (heads + 2 * keyHeads) * size),
          output: adapter(`${at}.self_attn.o_proj`, heads * size, hidden),
          down: adapter(`${at}.mlp.down_proj`, feedForward.size, hidden),
        },
      }
    }),
    norm: vector('pointing.norm.weight', hidden),
    headNorm: vector('pointing.out.weight', hidden),
    heads: matrix(
      POINTERS.map((own) => `pointing.heads.${own}`),
      headSize,
      hidden,
    ),
    nothings: vector('pointing.nothings', NOTHINGS * hidden),
    logitScales: vector('pointing.said', 2),
  }
  const [left] = names
  if (left !== undefined) throw refuse(name, `a head that points with a tensor ${left}, which has no use`)
  return { planned, trunk: { ...outline, names: outline.names.filter((each) => !OWN.test(each)) } }
}
