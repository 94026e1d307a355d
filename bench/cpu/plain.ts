/** The decoder as plain JavaScript loops over f32, as one writes it without thinking of speed: the baseline. */
import { layerMatrices, type Shape } from './shapes.js'

function multiply(w: Float32Array, x: Float32Array, out: Float32Array): void {
  const k = x.length
  for (let row = 0; row < out.length; row++) {
    let sum = 0
    for (let i = 0; i < k; i++) sum += w[row * k + i]! * x[i]!
    out[row] = sum
  }
}

/** One token at a time; returns a function that runs one step at a position. */
export function plainDecoder(of: Shape): (position: number) => void {
  const matrices = layerMatrices(of).map(([, rows, columns]) => new Float32Array(rows * columns).fill(0.01))
  const layers = Array.from({ length: of.layers }, () => matrices.map((matrix) => matrix.slice()))
  const head = new Float32Array(of.vocabulary * of.hidden).fill(0.01)
  const x = new Float32Array(of.hidden).fill(0.5)
  const width = of.heads * of.headSize
  const qkv = new Float32Array((of.heads + 2 * of.keyHeads) * of.headSize)
  const attended = new Float32Array(width)
  const added = new Float32Array(of.hidden)
  const gateUp = new Float32Array(2 * of.intermediate)
  const inner = new Float32Array(of.intermediate)
  const logits = new Float32Array(of.vocabulary)
  const history: Float32Array[][] = layers.map(() => [])
  return (position) => {
    for (const [i, [wqkv, wo, wgate, wdown]] of layers.entries()) {
      multiply(wqkv!, x, qkv)
      history[i]![position] = qkv.slice(width)
      attend(of, qkv, history[i]!, position, attended)
      multiply(wo!, attended, added)
      for (let j = 0; j < x.length; j++) x[j]! += added[j]! * 0.001
      multiply(wgate!, x, gateUp)
      for (let j = 0; j < inner.length; j++) {
        const gate = gateUp[j]!
        inner[j] = (gate / (1 + Math.exp(-gate))) * gateUp[j + inner.length]!
      }
      multiply(wdown!, inner, added)
      for (let j = 0; j < x.length; j++) x[j]! += added[j]! * 0.001
    }
    multiply(head, x, logits)
  }
}

function attend(of: Shape, qkv: Float32Array, history: Float32Array[], position: number, out: Float32Array): void {
  const { heads, keyHeads, headSize: d } = of
  const scores = new Float32Array(position + 1)
  for (let h = 0; h < heads; h++) {
    const key = Math.floor((h * keyHeads) / heads) * d
    let total = 0
    for (let p = 0; p <= position; p++) {
      let sum = 0
      for (let i = 0; i < d; i++) sum += qkv[h * d + i]! * history[p]![key + i]!
      scores[p] = Math.exp(Math.min(sum / Math.sqrt(d), 80))
      total += scores[p]!
    }
    for (let i = 0; i < d; i++) {
      let sum = 0
      for (let p = 0; p <= position; p++) sum += scores[p]! * history[p]![keyHeads * d + key + i]!
      out[h * d + i] = sum / total
    }
  }
}
