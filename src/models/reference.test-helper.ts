/**
 * A decoder in plain loops and double precision, written from the models' definitions and sharing no code with the one
 * under test. Slow, and that is its only fault.
 */
import { product, type Vector } from '../../test/oracles/float64.js'
import type { Preset } from './random-model.test-helper.js'

type Rows = Float64Array[]

/** What a device loses where the reference loses nothing; without it nothing is lost. */
export interface Losses {
  /** Of activations that a matrix is multiplied with. */
  product(x: Float64Array): Float64Array
  /** Of keys and values on their way into the cache. */
  cache(x: Float64Array): Float64Array
}

const NONE: Losses = { product: (x) => x, cache: (x) => x }

export class ReferenceDecoder {
  readonly #values: ReadonlyMap<string, Float64Array>
  readonly #preset: Preset
  readonly #hidden: number
  readonly #heads: number
  readonly #keyHeads: number
  readonly #headSize: number
  readonly #losses: Losses

  constructor(preset: Preset, values: ReadonlyMap<string, Float64Array>, losses = NONE) {
    this.#losses = losses
    this.#preset = preset
    this.#values = values
    this.#hidden = this.#number('hidden_size')
    this.#heads = this.#number('num_attention_heads')
    this.#keyHeads = this.#number('num_key_value_heads')
    this.#headSize = this.#number('head_dim', this.#hidden / this.#heads)
  }

  /** Logits after each token of the text, or after those from a place on. */
  logits(tokens: readonly number[], from = 0): Rows {
    const table = this.#get('model.embed_tokens')
    const x: Rows = tokens.map((token) => table.slice(token * this.#hidden, (token + 1) * this.#hidden))
    for (let i = 0; i < this.#number('num_hidden_layers'); i++) {
      this.#attention(x, `model.layers.${i}`)
      this.#mlp(x, `model.layers.${i}`)
    }
    const head = this.#values.get('lm_head') ?? table
    return x.slice(from).map((row) => this.#multiply(head, norm(row, this.#get('model.norm.weight'), this.#epsilon)))
  }

  /** Greedy continuation. */
  greedy(tokens: readonly number[], count: number): number[] {
    const all = [...tokens]
    for (let i = 0; i < count; i++) {
      const row = this.logits(all).at(-1)!
      all.push(row.indexOf(Math.max(...row)))
    }
    return all.slice(tokens.length)
  }

  #attention(x: Rows, at: string): void {
    const d = this.#headSize
    const name = `${at}.self_attn.${this.#values.has(`${at}.self_attn.c_attn`) ? 'c_attn' : 'qkv_proj'}`
    const gain = this.#get(`${at}.input_layernorm.weight`)
    const rows = x.map((row, position) => {
      const qkv = this.#multiply(this.#get(name), norm(row, gain, this.#epsilon), this.#values.get(`${name}.bias`))
      for (let h = 0; h < this.#heads + this.#keyHeads; h++) {
        const kind = h < this.#heads ? 'q' : 'k'
        let head: Float64Array = qkv.slice(h * d, (h + 1) * d)
        const headGain = this.#values.get(`${at}.self_attn.${kind}_norm.weight`)
        if (headGain) head = norm(head, headGain, this.#epsilon)
        qkv.set(this.#turn(head, position), h * d)
      }
      qkv.set(this.#losses.cache(qkv.subarray(this.#heads * d)), this.#heads * d)
      return qkv
    })
    x.forEach((row, position) => {
      const mixed = new Float64Array(this.#heads * d)
      for (let h = 0; h < this.#heads; h++) mixed.set(this.#attend(rows, position, h), h * d)
      add(
        row,
        this.#multiply(this.#get(`${at}.self_attn.o_proj`), mixed, this.#values.get(`${at}.self_attn.o_proj.bias`)),
      )
    })
  }

  #attend(rows: Rows, position: number, h: number): Float64Array {
    const d = this.#headSize
    const keyHead = Math.floor(h / (this.#heads / this.#keyHeads))
    const window = this.#preset.config.sliding_window_size as number | undefined
    const first = window === undefined ? 0 : Math.max(0, position - window + 1)
    const query = rows[position]!.subarray(h * d, (h + 1) * d)
    const scores: number[] = []
    for (let p = first; p <= position; p++) {
      const key = rows[p]!.subarray((this.#heads + keyHead) * d, (this.#heads + keyHead + 1) * d)
      let product = 0
      for (let i = 0; i < d; i++) product += query[i]! * key[i]!
      scores.push(product / Math.sqrt(d))
    }
    const most = Math.max(...scores)
    const weights = scores.map((score) => Math.exp(score - most))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const out = new Float64Array(d)
    weights.forEach((weight, i) => {
      const start = (this.#heads + this.#keyHeads + keyHead) * d
      for (let j = 0; j < d; j++) out[j]! += (weight / total) * rows[first + i]![start + j]!
    })
    return out
  }

  #mlp(x: Rows, at: string): void {
    const inner = this.#number('intermediate_size')
    for (const row of x) {
      const normed = norm(row, this.#get(`${at}.post_attention_layernorm.weight`), this.#epsilon)
      const gateUp = `${at}.mlp.gate_up_proj`
      const both = this.#multiply(this.#get(gateUp), normed, this.#values.get(`${gateUp}.bias`))
      const mixed = Float64Array.from(
        { length: inner },
        (_, i) => (both[i]! / (1 + Math.exp(-both[i]!))) * both[inner + i]!,
      )
      add(row, this.#multiply(this.#get(`${at}.mlp.down_proj`), mixed, this.#values.get(`${at}.mlp.down_proj.bias`)))
    }
  }

  /** Rotates value i with value i + d / 2. */
  #turn(head: Float64Array, position: number): Float64Array {
    const half = head.length / 2
    const yarn = this.#preset.model.rope_parameters as Record<string, number> | undefined
    const stretch = yarn ? 0.1 * Math.log(yarn.factor!) + 1 : 1
    const out = new Float64Array(head.length)
    for (let i = 0; i < half; i++) {
      const angle = position * (yarn ? this.#yarn(i, yarn) : this.#frequency(i))
      const [cosine, sine] = [stretch * Math.cos(angle), stretch * Math.sin(angle)]
      out[i] = head[i]! * cosine - head[i + half]! * sine
      out[i + half] = head[i + half]! * cosine + head[i]! * sine
    }
    return out
  }

  /** As the paper has it: by how often a pair turns within the original length, from 32 times to once. */
  #yarn(i: number, yarn: Record<string, number>): number {
    const d = this.#headSize
    const base = yarn.rope_theta!
    const dimension = (turns: number) =>
      (d * Math.log(yarn.original_max_position_embeddings! / (turns * 2 * Math.PI))) / (2 * Math.log(base))
    const low = Math.max(Math.floor(dimension(32)), 0)
    const high = Math.min(Math.ceil(dimension(1)), d - 1)
    const ramp = Math.min(1, Math.max(0, (i - low) / (high - low)))
    const plain = 1 / base ** ((2 * i) / d)
    return (plain / yarn.factor!) * ramp + plain * (1 - ramp)
  }

  #frequency(i: number): number {
    const theta = this.#number('rope_theta', this.#number('position_embedding_base', 10000))
    const frequency = 1 / theta ** ((2 * i) / this.#headSize)
    const scaling = this.#preset.model.rope_scaling as Record<string, number> | undefined
    if (!scaling) return frequency
    const turns = (scaling.original_max_position_embeddings! * frequency) / (2 * Math.PI)
    if (turns > scaling.high_freq_factor!) return frequency
    if (turns < scaling.low_freq_factor!) return frequency / scaling.factor!
    const blend = (turns - scaling.low_freq_factor!) / (scaling.high_freq_factor! - scaling.low_freq_factor!)
    return (1 - blend) * (frequency / scaling.factor!) + blend * frequency
  }

  #multiply(matrix: Float64Array, x: Float64Array, bias?: Float64Array): Float64Array {
    return product(matrix as Vector, this.#losses.product(x) as Vector, bias as Vector | undefined)
  }

  get #epsilon(): number {
    return this.#number('rms_norm_eps')
  }

  #number(key: string, otherwise?: number): number {
    return (this.#preset.model[key] as number | undefined) ?? otherwise!
  }

  #get(name: string): Float64Array {
    const values = this.#values.get(name)
    if (!values) throw new Error(`There is no tensor ${name}.`)
    return values
  }
}

function norm(x: Float64Array, gain: Float64Array, epsilon: number): Float64Array {
  const mean = x.reduce((sum, value) => sum + value * value, 0) / x.length
  return x.map((value, i) => (value / Math.sqrt(mean + epsilon)) * gain[i]!)
}

function add(row: Float64Array, more: Float64Array): void {
  for (let i = 0; i < row.length; i++) row[i]! += more[i]!
}
