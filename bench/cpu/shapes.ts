/** Decoders of known sizes with seeded random 4-bit weights: speed depends on shapes, not on what the weights say. */
import type { WeightSource } from '../../src/engines/webgpu/weights/source.js'
import { syntheticSource } from '../harness/shapes.js'

export interface Shape {
  readonly name: string
  readonly hidden: number
  readonly intermediate: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly vocabulary: number
}

export const SHAPES: readonly Shape[] = [
  shape('3M', 192, 512, 6, 6, 2, 32, 4096),
  shape('stories15M', 288, 768, 6, 6, 6, 48, 32000),
  shape('SmolLM2-135M', 576, 1536, 30, 9, 3, 64, 49152),
  shape('Qwen2.5-0.5B', 896, 4864, 24, 14, 2, 64, 151936),
]

function shape(name: string, ...sizes: [number, number, number, number, number, number, number]): Shape {
  const [hidden, intermediate, layers, heads, keyHeads, headSize, vocabulary] = sizes
  return { name, hidden, intermediate, layers, heads, keyHeads, headSize, vocabulary }
}

/** The matrices of one layer: name, rows, columns. */
export function layerMatrices(of: Shape): [string, number, number][] {
  const { hidden, intermediate, heads, keyHeads, headSize } = of
  return [
    ['self_attn.qkv_proj', (heads + 2 * keyHeads) * headSize, hidden],
    ['self_attn.o_proj', hidden, heads * headSize],
    ['mlp.gate_up_proj', 2 * intermediate, hidden],
    ['mlp.down_proj', hidden, intermediate],
  ]
}

export function parameters(of: Shape): number {
  const layer = layerMatrices(of).reduce((sum, [, rows, columns]) => sum + rows * columns, 0)
  return of.layers * layer + of.vocabulary * of.hidden
}

/** An MLC repository of the shape, made up as it is read. Embeddings and head are tied. */
export function randomSource(of: Shape, contextLength: number): WeightSource {
  const source = syntheticSource({ ...of, inner: of.intermediate })
  const { model_config: inner, ...rest } = source.chatConfig as { model_config: object }
  const window = { context_window_size: contextLength }
  return { ...source, chatConfig: { ...rest, ...window, model_config: { ...inner, ...window } } }
}
