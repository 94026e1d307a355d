import { Environment, Interpreter } from '@huggingface/jinja'
import type { Slices } from '../../platform/index.js'
import { PythonInterpreter, written } from './python-interpreter.js'
import { itemsOf, iterated, type Statement, type TemplateNode, type TemplateValue, templateValue } from './values.js'

/** How long a slice takes, in milliseconds. */
const SLICE_MS = 4
/** And no fewer steps: a busy machine is no reason to let others go first. */
const SLICE_STEPS = 2000
/** Loops and branches within each other: to pause, each of them is left and entered again. */
const MOST_DEPTH = 200
/** Values made between two looks at the clock. */
const VALUES = 256

/** `environment.set(name, list)` with pauses. */
export function* setInSlices(environment: Environment, name: string, list: readonly unknown[]): Slices<void> {
  const values = environment.set(name, []).value as unknown as TemplateValue[]
  for (const [i, each] of list.entries()) {
    values.push(templateValue(each))
    if (i % VALUES === VALUES - 1) yield
  }
}

/**
 * Runs a template with pauses: twenty thousand messages take the library's interpreter seconds, and it has no pauses.
 * Loops and branches are gone through here, as the library does, and all else is its own. `sliced`: it may be left there,
 * which it may not within a macro.
 */
export abstract class SlicedInterpreter extends PythonInterpreter {
  #began = performance.now()
  #left = 0

  /** A statement begins, or a round of a loop, before which it may be left. */
  protected abstract begin(): void
  /** Another round of a loop is made. */
  protected abstract round(): void
  /** A loop goes through a value. */
  protected abstract gone(value: TemplateValue): void
  /** Steps that were taken. */
  protected abstract readonly spent: number;

  *block(statements: readonly Statement[], environment: Environment, sliced: boolean, depth = 0): Slices<string> {
    if (depth === MOST_DEPTH) throw new RangeError('blocks are nested too deeply')
    let result = ''
    for (const [i, statement] of statements.entries()) {
      if (sliced) {
        if (i > 0 && this.#isDue()) yield* this.#pause()
        this.begin()
      }
      const node = statement as unknown as TemplateNode
      if (node.type === 'If') {
        const chosen = this.evaluate(node.test, environment).__bool__().value ? node.body : node.alternate
        result += yield* this.block(chosen as Statement[], environment, sliced, depth + 1)
      } else if (node.type === 'For') result += yield* this.loop(node, environment, sliced, depth + 1)
      else result += written(node, this.evaluate(node, environment))
    }
    return result
  }

  *loop(node: TemplateNode, environment: Environment, sliced: boolean, depth = 0): Slices<string> {
    const target = node.loopvar as TemplateNode
    const items = this.#items(node.iterable as TemplateNode, target, environment)
    let result = ''
    let rounds = 0
    for (const [i, item] of items.entries()) {
      if (sliced) {
        // Only where more comes: whoever pauses goes behind all others.
        if (i > 0 && this.#isDue()) yield* this.#pause()
        this.begin()
      }
      this.round()
      // Each round has variables of its own.
      const scope = new Environment(environment)
      bind(target, scope, item)
      setLoop(scope, items, i)
      try {
        result += yield* this.block(node.body as Statement[], scope, sliced, depth)
      } catch (error) {
        controls ??= { break: controlOf('Break'), continue: controlOf('Continue') }
        const kind = (error as object).constructor
        if (kind === controls.continue) continue
        if (kind === controls.break) break
        throw error
      }
      rounds++
    }
    return rounds > 0 ? result : yield* this.block((node.defaultBlock ?? []) as Statement[], environment, sliced, depth)
  }

  #isDue(): boolean {
    return this.spent - this.#left > SLICE_STEPS && performance.now() - this.#began > SLICE_MS
  }

  *#pause(): Slices<void> {
    yield
    this.#began = performance.now()
    this.#left = this.spent
  }

  #items(iterable: TemplateNode, target: TemplateNode, environment: Environment): readonly TemplateValue[] {
    const { lhs, test } = iterable.type === 'SelectExpression' ? iterable : { lhs: iterable, test: undefined }
    const value = this.evaluate(lhs, environment)
    this.gone(value)
    const items = iterated(value)
    if (items === undefined) throw new TypeError(`a loop cannot go through ${value.toString()}`)
    if (test === undefined) return items
    return items.filter((item) => {
      this.round()
      const scope = new Environment(environment)
      bind(target, scope, item)
      return this.evaluate(test, scope).__bool__().value
    })
  }
}

function setLoop(scope: Environment, items: readonly TemplateValue[], i: number): void {
  const { length } = items
  const loop = templateValue({
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
  const held = loop.value as Map<string, TemplateValue>
  if (i > 0) held.set('previtem', items[i - 1]!)
  if (i < length - 1) held.set('nextitem', items[i + 1]!)
  setVariable(scope, 'loop', loop)
}

/** What `break` and `continue` throw, found out once: the library keeps their classes to itself. */
let controls: { readonly break: unknown; readonly continue: unknown } | undefined

function controlOf(type: 'Break' | 'Continue'): unknown {
  try {
    return new Interpreter().evaluate({ type } as unknown as Statement, new Environment())
  } catch (error) {
    return (error as object).constructor
  }
}

/** Gives the variables of a loop their values. */
function bind({ type, value }: TemplateNode, scope: Environment, item: TemplateValue): void {
  if (type === 'Identifier') setVariable(scope, value as string, item)
  else if (type !== 'TupleLiteral') throw new SyntaxError(`a loop cannot set ${type}`)
  else {
    const [parts, items] = [value as TemplateNode[], itemsOf(item)]
    if (items?.length !== parts.length) throw new TypeError(`${item.toString()} has no ${parts.length} parts to unpack`)
    for (const [i, part] of parts.entries()) bind(part, scope, items[i]!)
  }
}

function setVariable(scope: Environment, name: string, value: TemplateValue): void {
  scope.setVariable(name, value as unknown as Parameters<Environment['setVariable']>[1])
}
