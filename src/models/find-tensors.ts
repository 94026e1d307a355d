/** Finds a model's tensors by their roles; all is known from names, shapes and types. */
import type { V1Error } from '../contract/index.js'
import type { Architecture, Names } from './architectures/architecture.js'
import type { WeightOutline } from './files/source.js'
import type { Role } from './model-plan.js'
import { canShrink, type PlannedMatrix, type PlannedPart, type PlannedVector, type StoredForm } from './planned.js'
import { assertNoneLeft, malformedWeights, refuse } from './refuse.js'

/** What the names of a layer begin with. */
const LAYER = 'model.layers.#'

interface Unfound {
  readonly name: string
  readonly length: number
  readonly shape?: readonly number[]
}

/** Finds tensors by their roles, and remembers which it has found. */
export class Finder {
  readonly #outline: WeightOutline
  readonly #architecture: Architecture
  readonly #quantize: boolean
  readonly #own: Names
  #roles: Names
  /** What stands in place of `model.`. */
  readonly #prefix: string
  readonly #names: ReadonlySet<string>
  readonly #used = new Set<string>()

  constructor(outline: WeightOutline, architecture: Architecture, quantize: boolean, name: string) {
    this.#outline = outline
    this.#architecture = architecture
    this.#quantize = quantize
    const naming = outline.naming ?? 'mlc'
    const roles = architecture.names[naming]
    if (!roles) throw refuse(name, `this architecture in the form "${naming}"`, 'Use its safetensors files.')
    this.#own = roles
    this.#roles = roles
    this.#names = new Set(outline.names)
    // A model that was saved without its head has none.
    const prefixes = ['model.', ...(architecture.prefixes ?? []), '']
    // Parts of a model that see or hear embed something too.
    const at = (prefix: string) => [roles.embedding ?? []].flat().map((name) => name.replace(/^model\./, prefix))
    this.#prefix = prefixes.find((prefix) => at(prefix).every((name) => this.#holds(name))) ?? 'model.'
    this.#roles = this.#asStored()
  }

  /** Its roles as the file has them, of layers whose names begin with `layer`. */
  #asStored(layer = LAYER): Names {
    const renamed = (roles: Names): Names =>
      Object.fromEntries(
        Object.entries(roles).map(([role, names]) => [role, [names].flat().map((name) => name.replace(LAYER, layer))]),
      )
    let roles = renamed(this.#own)
    for (const others of this.#architecture.others?.[this.#outline.naming ?? 'mlc'] ?? []) {
      const there = renamed(others)
      if (Object.values(there).every((names) => this.#inSome(names))) roles = { ...roles, ...there }
    }
    return roles
  }

  has(role: Role, layer?: number): boolean {
    return this.#partsOf(role, layer).every((name) => this.#holds(name))
  }

  /** Whether there is one of its parts. */
  hasSome(role: Role, layer?: number): boolean {
    return this.#partsOf(role, layer).some((name) => this.#holds(name))
  }

  #holds(name: string): boolean {
    return this.#names.has(`${name}.weight`) || this.#names.has(`${name}.q_weight`)
  }

  /** Whether they are there, in whatever layer: not all layers are alike. */
  #inSome(names: string | readonly string[]): boolean {
    return this.#named(names, '(\\d+)').every((name) => {
      const pattern = new RegExp(`^${name.replaceAll('.', '\\.')}(\\.(q_)?weight)?$`)
      return this.#outline.names.some((each) => pattern.test(each))
    })
  }

  /** Whether each layer has a tensor of its own under this role. */
  isPerLayer(role: Role): boolean {
    return [this.#roles[role] ?? []].flat().some((name) => name.includes('#'))
  }

  /** What is there under this role is not needed, and is no fault either. */
  passOver(role: Role, layer?: number, biased = false): void {
    for (const name of this.#partsOf(role, layer)) {
      const suffixes = ['weight', 'q_weight', 'q_scale', ...(biased ? ['bias'] : [])]
      for (const suffix of suffixes) this.#used.add(`${name}.${suffix}`)
    }
  }

  /** Finds what `plan` asks for in another layer, of which a name begins with `name`; in whatever form it has it. */
  inLayer<T>(name: string, plan: () => T): T {
    const roles = this.#roles
    this.#roles = this.#asStored(name)
    try {
      return plan()
    } finally {
      this.#roles = roles
    }
  }

  /** Layers from this one on are not needed, and are no fault. */
  passOverLayers(from: number): void {
    for (const name of this.#names) {
      const [, layer] = /^blk\.(\d+)\./.exec(name) ?? []
      if (layer !== undefined && Number(layer) >= from) this.#used.add(name)
    }
  }

  /** `rows`: of each of its parts, where they are stored apart. */
  matrix(role: Role, rows: readonly number[], columns: number, layer?: number): PlannedMatrix {
    const all = rows.reduce((sum, each) => sum + each, 0)
    const names = this.#partsOf(role, layer)
    const forms = names.map((name, i) => this.#form(name, names.length === 1 ? all : rows[i]!, columns))
    const { scaleType } = forms[0]!
    const fours = forms.filter(({ stored }) => stored === 'q4')
    if (fours.length % forms.length !== 0 || fours.some((form) => form.scaleType !== scaleType)) {
      throw malformedWeights(`${names.join(' and ')} differ in type.`)
    }
    const parts = forms.map(({ scaleType: _, ...part }) => part)
    const quantize = this.#quantize && columns % 32 === 0 && parts.some(({ stored }) => canShrink(stored))
    return { parts, rows: all, columns, scaleType, quantize }
  }

  /**
   * Matrices of so many experts one below the other, each in a tensor of its own (`*` in its name is its number) or all in
   * one. Of two parts the first ones of all experts come before the second ones.
   */
  experts(role: Role, count: number, rows: readonly number[], columns: number, layer: number): PlannedMatrix {
    const names = this.#partsOf(role, layer)
    const parts = names.flatMap((name, i): PlannedPart[] => {
      const own = names.length === 1 ? rows.reduce((sum, each) => sum + each, 0) : rows[i]!
      if (!name.includes('*')) return [this.#expertsPart(name, count, own, columns)]
      return Array.from({ length: count }, (_, expert) => {
        const each = name.replace('*', String(expert))
        return { name: each, rows: own, stored: this.#expect(`${each}.weight`, [own, columns]) }
      })
    })
    const quantize = this.#quantize && columns % 32 === 0 && parts.some(({ stored }) => canShrink(stored))
    const all = parts.reduce((sum, part) => sum + part.rows, 0)
    return { parts, rows: all, columns, scaleType: 'f16', quantize, experts: { count, halves: names.length === 2 } }
  }

  #expertsPart(name: string, count: number, rows: number, columns: number): PlannedPart {
    // Transformers calls them so without a suffix.
    const bare = !this.#names.has(`${name}.weight`) && this.#names.has(name)
    const tensor = this.#take(bare ? name : `${name}.weight`)
    const { dtype: stored, shape } = tensor
    const fits = [
      [count, rows, columns],
      [count * rows, columns],
    ].some((wanted) => same(shape, wanted))
    if (stored === 'u32' || !fits) throw mismatch(tensor, `[${count}][${rows}][${columns}]`)
    return { name, rows: count * rows, stored, shape, ...(bare && { bare }) }
  }

  /** `shape`: as it is stored, where that is no plain list. */
  vector(role: Role, length: number, layer?: number, shape?: readonly number[]): PlannedVector {
    const whole = (name: string) => (this.#names.has(name) ? name : `${name}.weight`)
    return this.#vector(
      this.#partsOf(role, layer).map((name) => ({ name: whole(name), length, ...(shape && { shape }) })),
    )
  }

  /** Formats whose configuration does not speak of biases have them where there are such tensors. */
  bias(
    role: Role,
    lengths: readonly number[],
    layer: number,
    demanded: boolean,
    experts = 1,
  ): PlannedVector | undefined {
    const names = this.#partsOf(role, layer).map((name) => `${name}.bias`)
    const silent = this.#outline.naming !== 'huggingface' && names.some((name) => this.#names.has(name))
    if (!demanded && !silent) return undefined
    const all = lengths.reduce((sum, each) => sum + each, 0)
    return this.#vector(
      names.map((name, i) => {
        const own = names.length === 1 ? all : lengths[i]!
        return { name, length: experts * own, ...(experts > 1 && { shape: [experts, own] }) }
      }),
    )
  }

  assertAllUsed(): void {
    const idle = this.#architecture.idle
    const left = this.#outline.names.filter((name) => !this.#used.has(name) && !idle?.test(name))
    assertNoneLeft(left)
  }

  #partsOf(role: Role, layer?: number): readonly string[] {
    return this.#named(this.#roles[role] ?? [], layer)
  }

  #named(names: string | readonly string[], layer?: number | string): readonly string[] {
    return [names].flat().map((name) => name.replace(/^model\./, this.#prefix).replace('#', String(layer)))
  }

  #vector(parts: readonly Unfound[]): PlannedVector {
    const found = parts.map((part) => {
      const tensor = this.#take(part.name)
      const shape = part.shape ?? [part.length]
      // Formats differ in whether a side of one is written down.
      if (tensor.dtype === 'u32' || !same(long(tensor.shape), long(shape))) {
        throw mismatch(tensor, `[${shape.join('][')}]`)
      }
      return { ...part, shape: tensor.shape }
    })
    return { parts: found, length: parts.reduce((sum, part) => sum + part.length, 0) }
  }

  #form(name: string, rows: number, columns: number): PlannedPart & Pick<PlannedMatrix, 'scaleType'> {
    if (!this.#names.has(`${name}.q_weight`)) {
      const stored = this.#expect(`${name}.weight`, [rows, columns])
      const { shape } = this.#outline.describe(`${name}.weight`)
      return { name, rows, stored, ...(shape.length === 1 && { shape }), scaleType: 'f16' }
    }
    const codes = this.#take(`${name}.q_weight`)
    const blocks = Math.ceil(columns / 32)
    const fits = codes.dtype === 'u32' && columns % 32 === 0 && same(codes.shape, [rows, columns / 8])
    if (!fits) throw mismatch(codes, `u32 [${rows}][${columns / 8}]`)
    const scales = this.#take(`${name}.q_scale`)
    const typed = scales.dtype === 'f16' || scales.dtype === 'f32'
    if (!typed || !same(scales.shape, [rows, blocks])) throw mismatch(scales, `f16 or f32 [${rows}][${blocks}]`)
    return { name, rows, stored: 'q4', scaleType: scales.dtype as 'f16' | 'f32' }
  }

  #expect(name: string, shape: readonly number[]): StoredForm {
    const tensor = this.#take(name)
    // A single row may be a list.
    const fits = same(tensor.shape, shape) || (shape[0] === 1 && same(tensor.shape, shape.slice(1)))
    if (tensor.dtype === 'u32' || !fits) throw mismatch(tensor, `[${shape.join('][')}]`)
    return tensor.dtype
  }

  #take(name: string): ReturnType<WeightOutline['describe']> {
    if (!this.#names.has(name)) throw malformedWeights(`The model has no tensor ${name}.`)
    this.#used.add(name)
    return this.#outline.describe(name)
  }
}

const long = (shape: readonly number[]) => shape.filter((side) => side !== 1)
const same = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((side, i) => side === b[i])

function mismatch({ name, dtype, shape }: ReturnType<WeightOutline['describe']>, wanted: string): V1Error {
  return malformedWeights(`Tensor ${name} is ${dtype} [${shape.join('][')}]; the configuration requires ${wanted}.`)
}
