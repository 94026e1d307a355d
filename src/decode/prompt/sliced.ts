import { Environment, type Interpreter, type Template } from '@huggingface/jinja'
import type { Slices } from '../../platform/slices.js'

type Program = Template['parsed']
type Statement = NonNullable<Parameters<Interpreter['evaluate']>[0]>
type Value = ReturnType<Interpreter['evaluate']>
/** What of the interpreter is needed, whoever extends it. */
type Evaluator = Pick<Interpreter, 'evaluate' | 'global'>

/** Of the library's nodes, as far as they are looked at here. */
interface Node {
  readonly type: string
  readonly test?: Statement
  readonly body?: readonly Statement[]
  readonly alternate?: readonly Statement[]
  readonly iterable?: Node
  readonly loopvar?: Node & { readonly value?: unknown }
  readonly defaultBlock?: readonly Statement[]
}

/** How long a slice takes, in milliseconds. */
const SLICE_MS = 4
/** Values made between two looks at the clock. */
const VALUES = 256

/**
 * Runs a template with pauses: twenty thousand messages take the library's interpreter seconds, and it has no pauses.
 * Loops and branches are gone through here, as the library does, and all else is its own. `round` is told of each round
 * of a loop.
 */
export function* runInSlices(interpreter: Evaluator, program: Program, round: () => void): Slices<string> {
  const run = new SlicedRun(interpreter, round)
  return yield* run.block(program.body, interpreter.global)
}

/** `environment.set(name, list)` with pauses. */
export function* setInSlices(environment: Environment, name: string, list: readonly unknown[]): Slices<void> {
  const values = environment.set(name, []).value as Value[]
  for (const [i, each] of list.entries()) {
    values.push(made(each))
    if (i % VALUES === VALUES - 1) yield
  }
}

/** As the library holds it. */
const made = (value: unknown): Value => new Environment().set('value', value)

class SlicedRun {
  readonly #interpreter: Evaluator
  readonly #round: () => void
  /** What `break` and `continue` throw: the library keeps their classes to itself. */
  readonly #controls: { readonly break: unknown; readonly continue: unknown }
  #began = performance.now()

  constructor(interpreter: Evaluator, round: () => void) {
    this.#interpreter = interpreter
    this.#round = round
    this.#controls = { break: this.#controlOf('Break'), continue: this.#controlOf('Continue') }
  }

  *block(statements: readonly Statement[], environment: Environment): Slices<string> {
    let result = ''
    for (const statement of statements) {
      const node = statement as unknown as Node
      if (node.type === 'If') result += yield* this.#branch(node, environment)
      else if (node.type === 'For') result += yield* this.#loop(statement, node, environment)
      else result += textOf(this.#interpreter.evaluate(statement, environment))
    }
    return result
  }

  *#branch({ test, body = [], alternate = [] }: Node, environment: Environment): Slices<string> {
    const holds = this.#interpreter.evaluate(test, environment).__bool__().value
    return yield* this.block(holds ? body : alternate, environment)
  }

  *#loop(statement: Statement, node: Node, environment: Environment): Slices<string> {
    const { iterable, loopvar, body = [], defaultBlock = [] } = node
    // What filters its list or takes pairs apart is about tools, if anything: the library does it at once.
    if (iterable?.type === 'SelectExpression' || loopvar?.type !== 'Identifier') {
      return textOf(this.#interpreter.evaluate(statement, environment))
    }
    const scope = new Environment(environment)
    const list = this.#interpreter.evaluate(iterable as unknown as Statement, scope)
    if (!Array.isArray(list.value)) return textOf(this.#interpreter.evaluate(statement, environment))
    const items = list.value as Value[]
    let result = ''
    let rounds = 0
    for (const [i, item] of items.entries()) {
      this.#round()
      this.#setLoop(scope, items, i)
      scope.setVariable(loopvar.value as string, item)
      try {
        result += yield* this.block(body, scope)
      } catch (error) {
        const kind = (error as object).constructor
        if (kind === this.#controls.continue) continue
        if (kind === this.#controls.break) break
        throw error
      }
      rounds++
      // Only where more comes: whoever pauses goes behind all others.
      if (i + 1 < items.length && performance.now() - this.#began > SLICE_MS) {
        yield
        this.#began = performance.now()
      }
    }
    return rounds > 0 ? result : yield* this.block(defaultBlock, scope)
  }

  #setLoop(scope: Environment, items: readonly Value[], i: number): void {
    const { length } = items
    const loop = made({
      index: i + 1,
      index0: i,
      revindex: length - i,
      revindex0: length - i - 1,
      first: i === 0,
      last: i === length - 1,
      length,
      previtem: undefined,
      nextitem: undefined,
    })
    const held = loop.value as Map<string, Value>
    if (i > 0) held.set('previtem', items[i - 1]!)
    if (i < length - 1) held.set('nextitem', items[i + 1]!)
    scope.setVariable('loop', loop)
  }

  #controlOf(type: 'Break' | 'Continue'): unknown {
    try {
      this.#interpreter.evaluate({ type } as unknown as Statement, this.#interpreter.global)
      return undefined
    } catch (error) {
      return (error as object).constructor
    }
  }
}

function textOf(value: Value): string {
  return value.type === 'NullValue' || value.type === 'UndefinedValue' ? '' : value.toString()
}
