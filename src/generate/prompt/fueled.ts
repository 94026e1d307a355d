/**
 * A chat template under fuel. Whoever makes a model writes it, and it is a program: it may loop, recur and grow without
 * end. The library's interpreter has no hook for that, but everything that it evaluates goes through its one method
 * `evaluate`, and what can be long in one step through five others; they are overridden here. Lists and mappings are
 * printed on the way as Python prints them: the library writes JSON.
 */
import { Environment, Template } from '@huggingface/jinja'
import { V1Error } from '../../contract/index.js'
import { atOnce, type Slices } from '../../platform/index.js'
import { known, PythonInterpreter, type TemplateResult } from './python-interpreter.js'
import { withoutRaw } from './python-source.js'
import { pythonText, strftime } from './python-text.js'
import { runInSlices, SlicedRun, setInSlices } from './sliced.js'
import { type FunctionOf, functionOf, made, type Statement, type TemplateNode, type TemplateValue } from './values.js'

/** Characters of a template: the longest of the published ones has a sixth of it. */
const MOST_SOURCE = 2 ** 17
/** Blanks in a row: looking for tags, the library takes the square of them. */
const MOST_BLANKS = 1000
/** Characters of a text that a template makes, beside what goes in. */
const MOST_TEXT = 2 ** 24
/** Steps, beside those for each value and each character that goes in. */
const [STEPS, PER_VALUE, PER_CHARACTER] = [500_000, 2000, 4]
/** Characters that weigh as much as a step. */
const CHARACTERS = 256
/** What making the round of a loop takes, or an element of a list. */
const ROUND = 4
const MOST_INDENT = 64
const MOST_DEPTH = 400
const RANGES = 2 ** 22

/** Not to be caught by anything that tries the messages in another way. */
export class TemplateFuelError extends V1Error {
  constructor(what: string) {
    super(500, `The model's chat template ${what}; it is stopped.`, {
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
    this.#program = new Template(withoutRaw(source)).parsed
  }

  render(given: Readonly<Record<string, unknown>>): string {
    return atOnce(this.renderInSlices(given))
  }

  /** `render` with pauses. */
  *renderInSlices(given: Readonly<Record<string, unknown>>): Slices<string> {
    const { values, characters } = sizeOf(given)
    const steps = STEPS + PER_VALUE * values + PER_CHARACTER * characters
    const interpreter = new FueledInterpreter(steps, MOST_TEXT + 8 * characters)
    for (const [name, value] of Object.entries(given)) {
      if (Array.isArray(value)) yield* setInSlices(interpreter.global, name, value)
      else interpreter.global.set(name, value)
    }
    return yield* runInSlices(interpreter, this.#program, () => interpreter.round())
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

class FueledInterpreter extends PythonInterpreter {
  #steps: number
  readonly #mostText: number
  /** Spends what printing takes, and prints. */
  readonly #print: (this: TemplateValue) => string
  #depth = 0

  constructor(steps: number, mostText: number) {
    super(globalsFor((count) => this.#spend(count)))
    this.#steps = steps
    this.#mostText = mostText
    const weigh = (value: TemplateValue) => this.weigh(value)
    this.#print = function (this: TemplateValue) {
      weigh(this)
      return pythonText(this)
    }
  }

  /** Another round of a loop is made. */
  round(): void {
    this.#spend(ROUND)
  }

  #spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new TemplateFuelError('takes too many steps')
  }

  override evaluate(statement: Statement | undefined, environment: Environment): TemplateResult {
    this.#spend(1)
    // Deeper down the library takes a full stack for a name that is not there.
    if (++this.#depth > MOST_DEPTH) throw new TemplateFuelError('calls itself without end')
    try {
      return this.#evaluate(statement, environment)
    } finally {
      this.#depth--
    }
  }

  #evaluate(statement: Statement | undefined, environment: Environment): TemplateResult {
    const node = statement as unknown as TemplateNode | undefined
    if (node?.type === 'Known') return node.value as TemplateResult
    // Loops within macros too: Python's ways with them are in one place.
    if (node?.type === 'For') {
      const run = new SlicedRun(this, () => this.round())
      return made(atOnce(run.loop(node, environment))) as unknown as TemplateResult
    }
    return this.#made(super.evaluate(statement, environment), node)
  }

  /** What stands beside a `~` is printed as Python prints it, and weighed. */
  protected override print(value: TemplateValue): string {
    if (typeof value.value === 'object' && value.value !== null) this.weigh(value)
    return super.print(value)
  }

  #made(made: TemplateResult, node: TemplateNode | undefined): TemplateResult {
    const { value } = made as unknown as TemplateValue
    if (typeof value === 'string') {
      if (value.length > this.#mostText) throw new TemplateFuelError('makes too long a text')
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

  /** All that is in a value, as often as it is in it. */
  protected override weigh(value: TemplateValue): void {
    this.#spend(1)
    const { value: held } = value
    if (typeof held === 'string') this.#spend(held.length / CHARACTERS)
    else if (Array.isArray(held)) for (const each of held) this.weigh(each)
    else if (held instanceof Map) for (const each of held.values()) this.weigh(each)
  }

  override applyFilter(operand: TemplateValue, filter: TemplateNode, environment: Environment): TemplateValue {
    const name = (filter.callee as TemplateNode | undefined)?.value ?? filter.value
    if (!SHALLOW.has(name)) this.weigh(operand)
    // Each is compared with each.
    if (name === 'unique' && Array.isArray(operand.value)) {
      for (const each of operand.value as TemplateValue[]) this.#compare(each, operand.value.length)
    }
    const args = filter.args as TemplateNode[] | undefined
    if (args === undefined) return super.applyFilter(operand, filter, environment)
    // Once, so that they can be looked at.
    const all = args.map((each) => this.#known(each, environment))
    for (const each of all) {
      const { value } = (
        (each.value as TemplateNode | undefined)?.type === 'Known' ? (each.value as TemplateNode).value : each.value
      ) as TemplateValue
      if (typeof value === 'number' && value > MOST_INDENT && (name === 'indent' || name === 'tojson'))
        throw new TemplateFuelError(`indents by ${value}`)
    }
    if (name === 'indent') this.#expect(operand, '\n', ' '.repeat(MOST_INDENT))
    if (name === 'replace')
      this.#assertReplaces(
        operand,
        all.map((each) => each.value as TemplateValue),
      )
    if (name === 'join') {
      const [separator] = all.map((each) => each.value as TemplateValue)
      const parts = Array.isArray(operand.value) ? operand.value.length : String(operand.value).length
      this.limit(parts * String(separator?.value ?? '').length)
    }
    return super.applyFilter(operand, { ...filter, args: all }, environment)
  }

  /** An argument as a node that has its value already. */
  #known(node: TemplateNode, environment: Environment): TemplateNode {
    if (node.type === 'KeywordArgumentExpression') {
      return { ...node, value: this.#known(node.value as TemplateNode, environment) }
    }
    if (node.type.startsWith('Spread') || node.type.startsWith('KeywordSpread')) return node
    return known(this.evaluate(node as unknown as Statement, environment) as unknown as TemplateValue)
  }

  /** Methods of texts may make much of little. */
  override evaluateMemberExpression(node: TemplateNode, environment: Environment): TemplateValue {
    const object = this.evaluate(node.object as Statement, environment) as unknown as TemplateValue
    const found = super.evaluateMemberExpression({ ...node, object: known(object) }, environment)
    if (found.type !== 'FunctionValue' || typeof object.value !== 'string') return found
    const call = found.value as FunctionOf
    return functionOf((args, scope) => {
      this.#spend(object.value instanceof Map ? 1 : String(object.value).length / ROUND)
      if (args.length > 1) this.#assertReplaces(object, args)
      for (const arg of args) if (Array.isArray(arg.value)) this.#expectJoined(object, arg)
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

  /** What is in a value is looked at `times`. */
  #compare(value: TemplateValue, times: number): void {
    const before = this.#steps
    this.weigh(value)
    this.#spend(((before - this.#steps) * times) / ROUND)
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
    if (length > 4 * this.#mostText) throw new TemplateFuelError('makes too long a text')
  }
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
  environment.set('strftime_now', strftime)
  return environment
}
