import type { JsonObject } from '../../platform/index.js'
/**
 * A model's configuration, field by field. What is read is noted, so that a field which says something about the
 * arithmetic, and which nobody has read, is found and refused.
 */
import { refuse } from '../refuse.js'

/** Names that speak of what a model computes. Others (dropout, dates, token ids) change nothing. */
const MATTERS =
  /rope|rotary|scal|multiplier|softcap|norm|bias|window|sliding|chunk|layer_types|expert|moe|rout|quant|alibi|clip|activation|hidden_act|mixer|conv|ssm|mamba|lora|share|sparse|mscale|residual|qk_|per_layer|_function|factor|pattern|no_rope|bidirectional/
/** Of these names some that change nothing after all: limits of serving, hints to a trainer. */
const IDLE = /initializer|prefill_chunk|logits_to_keep|router_aux|weight_block_size|^max_window_layers$/
/** What a switch or a list says that is off. */
const OFF: ReadonlySet<unknown> = new Set([undefined, null, false, -1, 0, 1, ''])

export class Fields {
  readonly model: string
  readonly #within: string
  readonly #values: JsonObject
  /** Where else a field may stand: MLC writes some outside. */
  readonly #outer: JsonObject
  #read = new Set<string>()
  #parts: Fields[] = []

  /** `within`: what the fields are part of, for messages: `rope_scaling.`. */
  constructor(model: string, values: JsonObject, outer: JsonObject = {}, within = '') {
    this.model = model
    this.#values = values
    this.#outer = outer
    this.#within = within
  }

  /** Undefined where the field is missing or null. */
  get(key: string): unknown {
    this.#read.add(key)
    return this.#values[key] ?? this.#outer[key] ?? undefined
  }

  /** A positive number. */
  number(key: string, otherwise?: number): number {
    const given = this.get(key)
    // MLC writes 0 for what it derives from the rest.
    const value = (given === 0 ? undefined : given) ?? otherwise
    if (value === undefined) throw refuse(this.model, `a configuration without ${this.#within}${key}`)
    if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value
    throw this.odd(key, value)
  }

  /** A number of things: whole and positive. */
  count(key: string, otherwise?: number): number {
    const value = this.number(key, otherwise)
    if (!Number.isSafeInteger(value)) throw this.odd(key, value)
    return value
  }

  /** A limit, which 0, -1 and null take away. */
  limit(key: string): number | undefined {
    const value = this.get(key)
    return value === undefined || value === 0 || value === -1 ? undefined : this.count(key)
  }

  flag(key: string, otherwise = false): boolean {
    const value = this.get(key) ?? otherwise
    if (typeof value !== 'boolean') throw this.odd(key, value)
    return value
  }

  /** A list of `length`, or undefined. */
  list(key: string, length: number): readonly unknown[] | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    if (Array.isArray(value) && value.length === length) return value
    const found = Array.isArray(value) ? `${value.length} entries` : JSON.stringify(value)
    throw refuse(this.model, `${this.#within}${key} with ${found} instead of a list of ${length}`)
  }

  numbers(key: string, length: number): readonly number[] {
    const values = this.list(key, length)
    if (values?.every((value) => typeof value === 'number' && value > 0)) return values as number[]
    throw refuse(this.model, `a configuration without ${length} numbers in ${this.#within}${key}`)
  }

  /** The fields of an object; undefined where there is none. */
  part(key: string): Fields | undefined {
    const value = record(this.get(key))
    if (!value) return undefined
    const known = this.#parts.find((part) => part.#values === value)
    if (known) return known
    const part = new Fields(this.model, value, {}, `${this.#within}${key}.`)
    this.#parts.push(part)
    return part
  }

  /** One of few words. */
  word<Word extends string>(key: string, known: readonly Word[], otherwise: Word): Word {
    const value = this.get(key) ?? otherwise
    if (known.includes(value as Word)) return value as Word
    throw this.odd(key, value)
  }

  /** The same fields, some of which have other values where they are missing. */
  withDefaults(defaults: JsonObject): Fields {
    const fields = new Fields(this.model, this.#values, { ...defaults, ...this.#outer }, this.#within)
    fields.#read = this.#read
    fields.#parts = this.#parts
    return fields
  }

  /** The same fields, some of which have other values. */
  replaced(values: JsonObject): Fields {
    const fields = new Fields(this.model, { ...this.#values, ...values }, this.#outer, this.#within)
    fields.#read = this.#read
    fields.#parts = this.#parts
    return fields
  }

  /** Throws the name of a field that matters and that nobody has asked for. */
  assertAllRead(): void {
    for (const [key, value] of Object.entries(this.#values)) {
      if (this.#read.has(key) || OFF.has(value) || !MATTERS.test(key) || IDLE.test(key)) continue
      if (typeof value === 'object' && Object.keys(value as object).length === 0) continue
      throw this.odd(key, value)
    }
    for (const part of this.#parts) part.assertAllRead()
  }

  /** The refusal of a field's value. */
  odd(key: string, value: unknown): Error {
    return refuse(this.model, `${this.#within}${key} = ${short(value)}`)
  }
}

export function record(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

function short(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
