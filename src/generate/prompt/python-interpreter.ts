/**
 * The library's interpreter with Python's ways: what is not there can be trimmed, counted and gone through, equal is what
 * is equal, tuples are unpacked, mappings may have numbers for keys, and texts have Python's methods.
 */
import { type Environment, Interpreter } from '@huggingface/jinja'
import { FILTERS, isIn, isSo, printed } from './python-filters.js'
import { methodOf } from './python-methods.js'
import {
  absent,
  functionOf,
  isAbsent,
  isEqual,
  isNone,
  type Statement,
  type TemplateNode,
  type TemplateValue,
  templateList,
  templateValue,
} from './values.js'

/** What the library keeps to itself. */
interface Inner {
  readonly global: Environment
  evaluate(node: unknown, environment: Environment): TemplateValue
  applyFilter(operand: TemplateValue, filter: TemplateNode, environment: Environment): TemplateValue
  evaluateMemberExpression(node: TemplateNode, environment: Environment): TemplateValue
  evaluateBlock(statements: readonly Statement[], environment: Environment): TemplateValue
}
/** TypeScript lets nobody override what is private. */
const Open = Interpreter as unknown as new (globals: Environment) => Inner

/** A node that has its value already. */
export const known = (value: TemplateValue): TemplateNode => ({ type: 'Known', value })

const STATEMENTS: ReadonlySet<string> = new Set(['Set', 'Macro', 'Comment', 'For', 'If', 'Break', 'Continue'])

/** What a statement leaves in the text. */
export function written(node: TemplateNode, value: TemplateValue): string {
  if (isNone(value)) return STATEMENTS.has(node.type) ? '' : 'None'
  return isAbsent(value) ? '' : value.toString()
}

const COMPARED = new Set(['==', '!=', 'in', 'not in'])

export class PythonInterpreter extends Open {
  override evaluate(given: unknown, environment: Environment): TemplateValue {
    const node = given as TemplateNode | undefined
    switch (node?.type) {
      case 'BinaryExpression':
        return this.#binary(node, environment) ?? super.evaluate(node, environment)
      case 'ObjectLiteral':
        return this.#mapping(node, environment)
      case 'TestExpression': {
        const operand = this.evaluate(node.operand, environment)
        const holds = isSo((node.test as { value: string }).value, operand, [], environment)
        return templateValue(holds !== Boolean(node.negate))
      }
      default:
        return super.evaluate(node, environment)
    }
  }

  /** Nothing: as the library does it. */
  #binary(node: TemplateNode, environment: Environment): TemplateValue | undefined {
    const { value: operator } = node.operator as { value: string }
    if (operator === 'and' || operator === 'or') return undefined
    const left = this.evaluate(node.left, environment)
    const right = this.evaluate(node.right, environment)
    // Values that are compared are walked through.
    if (COMPARED.has(operator)) this.weigh(right)
    if (operator.endsWith('in')) this.search(right, left)
    if (operator === '==') return templateValue(isEqual(left, right))
    if (operator === '!=') return templateValue(!isEqual(left, right))
    if (operator === 'in') return templateValue(isIn(left, right))
    if (operator === 'not in') return templateValue(!isIn(left, right))
    // A text and something else are no text to Python either.
    if (operator === '+' && (typeof left.value === 'string') !== (typeof right.value === 'string')) {
      throw new TypeError(`a text cannot be joined to ${left.type} and ${right.type}`)
    }
    if (operator === '*' && typeof left.value === 'string' && typeof right.value === 'number') {
      this.limit(left.value.length * right.value)
      return templateValue(left.value.repeat(Math.max(0, right.value)))
    }
    const [a, b] = operator === '~' ? [left, right].map((each) => templateValue(this.print(each))) : [left, right]
    return super.evaluate({ ...node, left: known(a!), right: known(b!) }, environment)
  }

  /** A value as a text; it may be a long one. */
  protected print(value: TemplateValue): string {
    return printed(value)
  }

  /** What is in a value is looked at. */
  protected weigh(_value: TemplateValue): void {}

  /** A text may be looked for in another. */
  protected search(_within: TemplateValue, _wanted: TemplateValue): void {}

  /** Throws where a text would be too long to be made. */
  protected limit(_length: number): void {}

  #mapping(node: TemplateNode, environment: Environment): TemplateValue {
    const mapping = templateValue({})
    for (const [key, each] of node.value as Map<Statement, Statement>) {
      const { value } = this.evaluate(key, environment)
      if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('a key is a text or a number')
      ;(mapping.value as Map<unknown, unknown>).set(value, this.evaluate(each, environment))
    }
    return mapping
  }

  override evaluateBlock(statements: readonly Statement[], environment: Environment): TemplateValue {
    let text = ''
    for (const each of statements) text += written(each as unknown as TemplateNode, this.evaluate(each, environment))
    return templateValue(text)
  }

  override evaluateMemberExpression(node: TemplateNode, environment: Environment): TemplateValue {
    const object = this.evaluate(node.object, environment)
    const asIs = { ...node, object: known(object) }
    const property = node.property as TemplateNode
    if (property.type === 'SliceExpression') return super.evaluateMemberExpression(asIs, environment)
    const name = node.computed ? this.evaluate(property, environment).value : property.value
    const isKey = typeof name === 'string' || typeof name === 'number' || typeof name === 'boolean'
    if (!isKey && !isAbsent(object)) return absent()
    if (typeof object.value === 'string') {
      const method = methodOf(object.value, name)
      if (method) return method
    }
    if (Array.isArray(object.value)) {
      const method = listMethodOf(object.value as TemplateValue[], name)
      if (method) return method
    }
    if (object.value instanceof Map) {
      const { value: held } = object as { value: Map<unknown, TemplateValue> }
      if (typeof name === 'number') return held.get(name) ?? absent()
      if (
        name === 'get' &&
        object.type !== 'NamespaceValue' &&
        (node.computed ? held.get(name) : undefined) === undefined
      ) {
        return functionOf(([key, other]) => held.get(key?.value) ?? other ?? templateValue(null))
      }
      if (name === 'items' || name === 'keys' || name === 'values')
        return this.#view(object, name, node.computed === true, asIs, environment)
    }
    return super.evaluateMemberExpression(
      node.computed ? { ...asIs, property: known(templateValue(name)) } : asIs,
      environment,
    )
  }

  /** `m.items` is the method, though there be such a key; `m['items']` is the key. */
  #view(
    object: TemplateValue,
    name: 'items' | 'keys' | 'values',
    isKey: boolean,
    node: TemplateNode,
    environment: Environment,
  ): TemplateValue {
    const held = object.value as Map<unknown, TemplateValue>
    if (object.type === 'NamespaceValue' || (isKey && held.has(name)))
      return held.get(name) ?? super.evaluateMemberExpression(node, environment)
    return functionOf(() => {
      if (name === 'items') return FILTERS.items!(object, undefined as never)!
      const list = name === 'keys' ? [...held.keys()].map(templateValue) : [...held.values()]
      return templateList(list)
    })
  }

  override applyFilter(operand: TemplateValue, filter: TemplateNode, environment: Environment): TemplateValue {
    const name = String((filter.callee as TemplateNode | undefined)?.value ?? filter.value)
    const own = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined
    if (own === undefined) return super.applyFilter(operand, filter, environment)
    const args: TemplateValue[] = []
    const named = new Map<string, TemplateValue>()
    for (const each of (filter.args as TemplateNode[] | undefined) ?? []) {
      if (each.type === 'KeywordArgumentExpression') {
        named.set(String((each.key as TemplateNode).value), this.evaluate(each.value, environment))
      } else args.push(this.evaluate(each, environment))
    }
    const apply = (value: TemplateValue, other: string, given: readonly TemplateValue[]) => {
      if (other === '') return super.applyFilter(value, filter, environment)
      const callee = { type: 'Identifier', value: other }
      const node = given.length === 0 ? callee : { type: 'CallExpression', callee, args: given.map(known) }
      return this.applyFilter(value, node, environment)
    }
    return own(operand, { args, named, environment, apply }) ?? super.applyFilter(operand, filter, environment)
  }
}

/** What changes a list: transformers forbids it, and the templates of Kimi want it. */
function listMethodOf(list: TemplateValue[], name: unknown): TemplateValue | undefined {
  if (name === 'append') {
    return functionOf(([each]) => {
      list.push(each ?? absent())
      return templateValue(null)
    })
  }
  if (name !== 'pop') return undefined
  return functionOf(([at]) => {
    const index = at === undefined ? -1 : Number(at.value)
    const [gone] = list.splice(index < 0 ? list.length + index : index, index < -list.length ? 0 : 1)
    if (gone === undefined) throw new TypeError('pop index out of range')
    return gone
  })
}
