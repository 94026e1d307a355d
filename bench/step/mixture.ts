/** A model's matrices in the forms that llama.cpp's mixture Q4_K_M gives them: what most people have. */
import type { WeightSource } from '../../src/models/files/source.js'
import { hasMoreBits } from '../families/blocks.js'

export function inMixture(source: WeightSource, layers: number): WeightSource {
  const codes = /\.q_weight$/
  const formOf = (name: string) => {
    const layer = Number(/\.layers\.(\d+)\.mlp\.down_proj\.weight$/.exec(name)?.[1] ?? Number.NaN)
    return name.includes('embed_tokens') || hasMoreBits(layer, layers) ? 'q6_k' : 'q4_k'
  }
  const names = source.names.filter((name) => !name.endsWith('.q_scale')).map((name) => name.replace(codes, '.weight'))
  const describe: WeightSource['describe'] = (name) => {
    const four = name.replace(/\.weight$/, '.q_weight')
    if (!source.has(four)) return source.describe(name)
    const [rows, words] = source.describe(four).shape as [number, number]
    return { name, shape: [rows, words * 8], dtype: formOf(name) }
  }
  return { ...source, names, has: (name) => names.includes(name), describe }
}
