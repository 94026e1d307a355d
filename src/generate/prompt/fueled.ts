/**
 * A chat template under fuel. Whoever makes a model writes it, and it is a program: it may loop, recur and grow without
 * end. The library's interpreter has no hook for that, but everything that it evaluates goes through its one method
 * `evaluate`, and what can be long in one step through five others; they are overridden here. Lists and mappings are
 * printed on the way as Python prints them: the library writes JSON.
 */
import { Environment, Template } from '@huggingface/jinja'
import { V1Error } from '../../contract/index.js'
import { atOnce, type Slices } from '../../platform/index.js'
import { known } from './python-interpreter.js'
import { withLines, withoutRaw } from './python-source.js'
import { pythonText, strftime } from './python-text.js'
import { SlicedInterpreter, setInSlices } from './sliced.js'
import {
  type FunctionOf,
  functionOf,
  itemsOf,
  mapEntries,
  type TemplateNode,
  type TemplateValue,
  templateValue,
} from './values.js'

/** Characters of a template: the longest of the published ones has a third of it. */
const MOST_SOURCE = 2 ** 16
/** Blanks in a row: looking for tags, the library takes the square of them. */
const MOST_BLANKS = 1000
/** Characters of a text that a template makes, beside what goes in. */
const MOST_TEXT = 2 ** 22
interface Allowance {
  readonly steps: number
  /** For each value and each character that goes in. */
  readonly perValue: number
  readonly perCharacter: number
}
const WHOLE: Allowance = { steps: 500_000, perValue: 2000, perCharacter: 4 }
/** For a statement outside of macros, or a round of its loop, which cannot be left: some tens of milliseconds. */
const PIECE: Allowance = { steps: 30_000, perValue: 200, perCharacter: 2 }
/** Characters that weigh as much as a step, where they are copied as a whole, and where each is looked at. */
const [CHARACTERS, LOOKED_AT] = [256, 4]
/** Pairs of characters that weigh as much, where a text is looked for in another. */
const COMPARED = 1024
/** What an element of a list takes. */
const ROUND = 4
/** What making the round of a loop takes: its variables, and the nine values of `loop`. */
const LOOP = 12
/** What a filter or a method of a text takes, however short the text is: its arguments are made nodes, and it a function. */
const APPLIED = 8
/** What `break` and `continue` take: the library throws them, with a stack. */
const THROWN = 24
/** What it takes to write a time in words. */
const TIME = 32
/** Characters that one may be printed as. */
const MOST_ESCAPED = 10
/** What a name takes that is not there: the library makes an error of it. */
const ABSENT = 16
const MOST_INDENT = 64
const MOST_DEPTH = 400
const RANGES = 2 ** 22

/** Not to be caught by anything that tries the messages in another way. */
export class TemplateFuelError extends V1Error {
  constructor(fault: string) {
    super(500, `The model's chat template ${fault}; it was stopped.`, {
      code: 'model_files',
      headers: { 'x-should-retry': 'false' },
    })
  }
}

export class FueledTemplate {
  readonly #program: Template['parsed']

  constructor(source: string) {
    if (source.length > MOST_SOURCE) {
      throw new SyntaxError(`it has ${source.length} characters; up to ${MOST_SOURCE} are read.`)
    }
    if (longestBlank(source) > MOST_BLANKS) throw new SyntaxError(`it has more than ${MOST_BLANKS} blanks in a row.`)
    this.#program = new Template(withoutRaw(withLines(source))).parsed
  }

  render(given: Readonly<Record<string, unknown>>): string {
    return atOnce(this.renderInSlices(given))
  }

  /** `render` with pauses. */
  *renderInSlices(given: Readonly<Record<string, unknown>>): Slices<string> {
    const { values, characters } = sizeOf(given)
    const [steps, piece] = [WHOLE, PIECE].map(
      ({ steps, perValue, perCharacter }) => steps + perValue * values + perCharacter * characters,
    )
    const interpreter = new FueledInterpreter(steps!, piece!, MOST_TEXT + 8 * characters)
    for (const [name, value] of Object.entries(given)) {
      if (Array.isArray(value)) yield* setInSlices(interpreter.global, name, value)
      else interpreter.global.set(name, value)
    }
    const text = yield* interpreter.block(this.#program.body, interpreter.global, true)
    interpreter.assertWritable(text.length)
    return text
  }
}

/** What goes into a template: values, and the characters of its texts. */
function sizeOf(given: unknown): { values: number; characters: number } {
  let [values, characters] = [0, 0]
  const line: unknown[] = [given]
  for (let next = line.pop(); line.length > 0 || next !== undefined; next = line.pop()) {
    values++
    if (typeof next === 'string') characters += next.length
    else if (typeof next === 'object' && next !== null) {
      for (const [key, value] of Object.entries(next)) {
        characters += key.length
        if (value !== undefined) line.push(value)
      }
    }
  }
  return { values, characters }
}

function longestBlank(source: string): number {
  let longest = 0
  for (const [blank] of source.matchAll(/\s+/g)) longest = Math.max(longest, blank.length)
  return longest
}

/** Names of its filters that look at no more of a value than its outside. */
const SHALLOW: ReadonlySet<unknown> = new Set(['length', 'count', 'first', 'last', 'list', 'safe', 'default', 'd'])
/** Those that give a text back as it is. */
const UNTOUCHED: ReadonlySet<unknown> = new Set(['safe', 'default', 'd', 'string'])
/** Those to which a text is a list of characters. */
const LISTS: ReadonlySet<unknown> = new Set([
  ...['list', 'first', 'last', 'join', 'map', 'select', 'reject', 'selectattr', 'rejectattr', 'unique'],
  ...['sum', 'max', 'min', 'items'],
])
const SORTS: ReadonlySet<unknown> = new Set(['sort', 'dictsort'])

class FueledInterpreter extends SlicedInterpreter {
  readonly #all: number
  #steps: number
  readonly #piece: number
  /** Left when the statement began that is at work, or the round. */
  #began: number
  readonly #mostText: number
  /** Spends what printing takes, and prints. */
  readonly #print: (this: TemplateValue) => string
  #depth = 0

  constructor(steps: number, piece: number, mostText: number) {
    super(globalsFor((count) => this.#spend(count)))
    this.#all = steps
    this.#steps = steps
    this.#began = steps
    this.#piece = piece
    this.#mostText = mostText
    const weigh = (value: TemplateValue) => this.weigh(value, LOOKED_AT)
    this.#print = function (this: TemplateValue) {
      weigh(this)
      return pythonText(this)
    }
  }

  protected override get spent(): number {
    return this.#all - this.#steps
  }

  protected override begin(): void {
    this.#began = this.#steps
  }

  protected override round(): void {
    this.#spend(LOOP)
  }

  protected override gone({ value }: TemplateValue): void {
    if (typeof value === 'string') this.#spend(ROUND * value.length)
    else if (value instanceof Map) this.#spend(ROUND * value.size)
  }

  assertWritable(length: number): void {
    if (length > this.#mostText) throw new TemplateFuelError('makes a text that is too long')
  }

  #spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new TemplateFuelError('takes too many steps')
    if (this.#began - this.#steps > this.#piece) throw new TemplateFuelError('takes too many steps at once')
  }

  override evaluate(given: unknown, environment: Environment): TemplateValue {
    this.#spend(1)
    // Deeper down the library takes a full stack for a name that is not there.
    if (++this.#depth > MOST_DEPTH) throw new TemplateFuelError('calls itself endlessly')
    try {
      const node = given as TemplateNode | undefined
      if (node?.type === 'Known') return node.value as TemplateValue
      // Loops within macros too: Python's ways with them are in one place.
      if (node?.type === 'For') return templateValue(atOnce(this.loop(node, environment, false)))
      if (node?.type === 'Break' || node?.type === 'Continue') this.#spend(THROWN)
      // The library looks through all of its body.
      if (node?.type === 'Macro' || node?.type === 'CallStatement') this.#spend(nodesIn(node))
      return this.#made(super.evaluate(node, environment), node)
    } finally {
      this.#depth--
    }
  }

  /** What stands beside a `~` is printed as Python prints it, and weighed. */
  protected override print(value: TemplateValue): string {
    if (typeof value.value === 'object' && value.value !== null) this.weigh(value, LOOKED_AT)
    return super.print(value)
  }

  #made(made: TemplateValue, node: TemplateNode | undefined): TemplateValue {
    const { value } = made
    if (value === undefined && node?.type === 'Identifier') this.#spend(ABSENT)
    if (typeof value === 'string') {
      this.assertWritable(value.length)
      this.#spend(value.length / CHARACTERS)
    } else if (Array.isArray(value) || value instanceof Map) {
      // A copy of a list is new each time, a name for one is not.
      if (node && node.type !== 'Identifier') this.#spend((Array.isArray(value) ? value.length : value.size) / ROUND)
    }
    if ((typeof value === 'object' && value !== null) || typeof value === 'boolean') {
      if (!Object.hasOwn(made, 'toString')) Object.defineProperty(made, 'toString', { value: this.#print })
    }
    return made
  }

  /** All that is in a value, as often as it is in it; so many characters weigh as much as a step. */
  protected override weigh(value: TemplateValue, characters = CHARACTERS, depth = 0): void {
    this.#spend(1)
    if (depth > MOST_DEPTH) throw new TemplateFuelError('nests lists endlessly')
    const { value: held } = value
    if (typeof held === 'string') this.#spend(held.length / characters)
    else if (Array.isArray(held)) for (const each of held) this.weigh(each, characters, depth + 1)
    else if (held instanceof Map) for (const each of held.values()) this.weigh(each, characters, depth + 1)
  }

  override applyFilter(operand: TemplateValue, filter: TemplateNode, environment: Environment): TemplateValue {
    const name = (filter.callee as TemplateNode | undefined)?.value ?? filter.value
    const { value } = operand
    this.#spend(APPLIED)
    const list = Array.isArray(value) ? (value as TemplateValue[]) : undefined
    if (!SHALLOW.has(name)) this.weigh(operand)
    if (LISTS.has(name)) this.gone(operand)
    else if (typeof value === 'string' && !UNTOUCHED.has(name)) this.#spend(value.length / LOOKED_AT)
    // Each is compared with each.
    if (name === 'unique' && list) for (const each of list) this.#again(each, list.length)
    if (SORTS.has(name)) this.#again(operand, ROUND * Math.log2(2 + extentOf(operand).count))
    const args = filter.args as TemplateNode[] | undefined
    if (args === undefined) return super.applyFilter(operand, filter, environment)
    // Once, so that they can be looked at.
    const all = args.flatMap((each) => this.#known(each, environment))
    const given = all.map(givenBy)
    for (const each of given) if (list) this.#again(each, ROUND * list.length)
    if (name === 'indent' || name === 'tojson') this.#assertNarrow(operand, name, given)
    if (name === 'replace') this.#assertReplaces(operand, given)
    if (name === 'join') {
      const parts = list?.length ?? String(value).length
      for (const each of given) this.limit(parts * this.#printedLength(each))
    }
    if (name === 'format') this.limit(given.reduce((sum, each) => sum + this.#printedLength(each), 0))
    for (const each of given) this.#search(operand, each)
    return super.applyFilter(operand, { ...filter, args: all }, environment)
  }

  /** What stands before each line and between parts is longer the deeper they are. */
  #assertNarrow(operand: TemplateValue, name: 'indent' | 'tojson', given: readonly TemplateValue[]): void {
    let [width, between] = [0, 0]
    for (const each of given) {
      if (typeof each.value === 'number') width = Math.max(width, each.value)
      else if (Array.isArray(each.value)) between += this.#printedLength(each)
    }
    if (width > MOST_INDENT) throw new TemplateFuelError(`indents by ${width}`)
    if (name === 'indent') this.#expect(operand, '\n', ' '.repeat(MOST_INDENT))
    else {
      this.weigh(operand, LOOKED_AT)
      const { count, depth } = extentOf(operand)
      this.limit(count * (between + 2 * width * depth))
    }
  }

  /** At most. */
  #printedLength(value: TemplateValue): number {
    if (typeof value.value === 'string') return value.value.length
    const before = this.#steps
    this.weigh(value, LOOKED_AT)
    return MOST_ESCAPED * LOOKED_AT * (before - this.#steps)
  }

  /** An argument, or those that it unpacks, as nodes that have their values already. */
  #known(node: TemplateNode, environment: Environment): TemplateNode[] {
    const { type, value, argument } = node
    if (type === 'KeywordArgumentExpression') return [{ ...node, value: known(this.evaluate(value, environment)) }]
    if (type === 'SpreadExpression') return (itemsOf(this.evaluate(argument, environment)) ?? []).map(known)
    if (type !== 'KeywordSpreadExpression') return [known(this.evaluate(node, environment))]
    return [...(mapEntries(this.evaluate(argument, environment)) ?? [])].map(([key, value]) => ({
      type: 'KeywordArgumentExpression',
      key: { type: 'Identifier', value: key },
      value: known(value),
    }))
  }

  /** Methods of texts may make much of little, and views of mappings make all of it anew. */
  override evaluateMemberExpression(node: TemplateNode, environment: Environment): TemplateValue {
    const object = this.evaluate(node.object, environment)
    const { value } = object
    if ((node.property as TemplateNode).type === 'SliceExpression' && typeof value === 'string')
      this.#spend(value.length / LOOKED_AT)
    const found = super.evaluateMemberExpression({ ...node, object: known(object) }, environment)
    if (found.type !== 'FunctionValue' || (typeof value !== 'string' && !(value instanceof Map))) return found
    const call = found.value as FunctionOf
    return functionOf((args, scope) => {
      if (typeof value === 'string') {
        this.#spend(APPLIED + value.length / LOOKED_AT)
        if (args.length > 1) this.#assertReplaces(object, args)
        for (const arg of args) if (Array.isArray(arg.value)) this.#expectJoined(object, arg)
        for (const arg of args) this.#search(object, arg)
      } else if (args.length === 0) this.gone(object)
      return call(args, scope)
    })
  }

  /** What is made of texts with one between them. */
  #expectJoined({ value }: TemplateValue, list: TemplateValue): void {
    this.weigh(list)
    const parts = list.value as TemplateValue[]
    const texts = parts.reduce((sum, part) => sum + String(part.value ?? '').length, 0)
    this.limit(texts + parts.length * String(value).length)
  }

  /** What is in a value is looked at `times`, and that takes little each time. */
  #again(value: TemplateValue, times: number): void {
    const before = this.#steps
    this.weigh(value)
    this.#spend(((before - this.#steps) * times) / ROUND)
  }

  /** One text is looked for in another, each of a list in the other: at worst each character is compared with each. */
  #search(one: TemplateValue, other: TemplateValue): void {
    for (const each of itemsOf(one) ?? [one]) {
      if (typeof each.value !== 'string' || typeof other.value !== 'string') continue
      this.#spend((each.value.length * other.value.length) / COMPARED)
    }
  }

  protected override search(within: TemplateValue, wanted: TemplateValue): void {
    this.#search(within, wanted)
  }

  #assertReplaces(text: TemplateValue, [before, after]: TemplateValue[]): void {
    this.#expect(text, String(before?.value ?? ''), String(after?.value ?? ''))
  }

  /** What a text would be at most, with the one for the other. */
  #expect({ value }: TemplateValue, before: string, after: string): void {
    const { length } = String(value)
    this.limit(length + (length / Math.max(1, before.length) + 1) * after.length)
  }

  protected override limit(length: number): void {
    if (length > 4 * this.#mostText) throw new TemplateFuelError('makes a text that is too long')
  }
}

/** The value of an argument, whatever it goes by. */
const givenBy = ({ type, value }: TemplateNode): TemplateValue =>
  (type === 'KeywordArgumentExpression' ? (value as TemplateNode).value : value) as TemplateValue

/** How many values there are in one, itself counted, and how deep they stand. It was weighed before: it may hold itself. */
function extentOf({ value }: TemplateValue): { count: number; depth: number } {
  let [count, depth] = [1, 0]
  for (const each of Array.isArray(value) ? value : value instanceof Map ? value.values() : []) {
    const within = extentOf(each as TemplateValue)
    count += within.count
    depth = Math.max(depth, within.depth)
  }
  return { count, depth: depth + 1 }
}

const sizes = new WeakMap<object, number>()

/** Nodes of a part of a template. */
function nodesIn(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0
  const known = sizes.get(node)
  if (known !== undefined) return known
  let size = 1
  for (const each of node instanceof Map ? [...node].flat() : Object.values(node)) size += nodesIn(each)
  sizes.set(node, size)
  return size
}

/** As the library sets them, but for numbers in a row, of which there is an end here. */
function globalsFor(spend: (steps: number) => void): Environment {
  const environment = new Environment()
  const constants = { false: false, true: true, none: null, False: false, True: true, None: null }
  for (const [name, value] of Object.entries(constants)) environment.set(name, value)
  environment.set('raise_exception', (message: string) => {
    throw new Error(message)
  })
  environment.set('range', (from: number, to?: number, step = 1) => {
    const [first, end] = to === undefined ? [0, from] : [from, to]
    if (step === 0 || ![first, end, step].every(Number.isFinite)) throw new Error('range() needs whole numbers')
    const count = Math.max(0, Math.ceil((end - first) / step))
    if (count > RANGES) throw new TemplateFuelError(`asks for a range of ${count} numbers`)
    spend(ROUND * count)
    return Array.from({ length: count }, (_, i) => first + i * step)
  })
  environment.setVariable('dict', mappingOf(spend) as unknown as Parameters<Environment['setVariable']>[1])
  environment.set('strftime_now', (format: unknown) => {
    if (typeof format !== 'string') throw new TypeError('strftime_now() takes a text')
    spend(TIME + format.length / LOOKED_AT)
    return strftime(format)
  })
  return environment
}

/** `dict(mapping or pairs, name=value)`. */
const mappingOf = (spend: (steps: number) => void): TemplateValue =>
  functionOf((args) => {
    const made = templateValue({})
    const held = made.value as Map<unknown, TemplateValue>
    for (const each of args) {
      const pairs = mapEntries(each) ?? itemsOf(each)?.map((pair) => itemsOf(pair) ?? [])
      if (pairs === undefined) throw new TypeError('dict() takes a mapping or pairs')
      for (const [key, value, ...more] of pairs) {
        spend(ROUND)
        const name = typeof key === 'object' && key !== null ? (key as TemplateValue).value : key
        if (value === undefined || more.length > 0) throw new TypeError('dict() takes pairs of a key and a value')
        held.set(name, value as TemplateValue)
      }
    }
    return made
  })
