/** Which stretch of a text each value of a document stands for. */
import type { PartialJson } from '../../../src/grammar/partial-json.js'
import type { Evidence } from './api.js'

/** A value of the document that is no object and no list. */
export interface Leaf {
  /** As RFC 6901 writes it. */
  readonly pointer: string
  /** For people: `customer name`, `attendees 2`. */
  readonly name: string
  readonly kind: 'string' | 'number' | 'boolean' | 'null'
  readonly text: string
  readonly done: boolean
}

export function leavesOf(value: PartialJson | undefined): Leaf[] {
  const leaves: Leaf[] = []
  const walk = (value: PartialJson, pointer: string, name: string) => {
    if (value.kind === 'object') {
      for (const [key, field] of value.entries) {
        const token = key.replaceAll('~', '~0').replaceAll('/', '~1')
        walk(field, `${pointer}/${token}`, name === '' ? key : `${name} ${key}`)
      }
    } else if (value.kind === 'array') {
      for (const [i, item] of value.items.entries()) walk(item, `${pointer}/${i}`, `${name} ${i + 1}`.trim())
    } else leaves.push({ pointer, name: name === '' ? 'value' : name, ...value })
  }
  if (value) walk(value, '', '')
  return leaves
}

/** A stretch of the text, and the values that stand there: none, one, or several, as a day within a date. */
export interface Stretch {
  readonly text: string
  readonly pointers: readonly string[]
}

/** The text cut where a value's place begins or ends; offsets are UTF-16 code units, as JavaScript has them. */
export function stretchesOf(
  text: string,
  message: number,
  evidence: ReadonlyMap<string, Pick<Evidence, 'source'>>,
): Stretch[] {
  const places = [...evidence].flatMap(([pointer, { source }]) =>
    source && source.message === message && source.part === 0 ? [{ pointer, ...source }] : [],
  )
  const cuts = [0, text.length, ...places.flatMap(({ start, end }) => [start, end])]
  const at = [...new Set(cuts)].filter((cut) => cut <= text.length).sort((a, b) => a - b)
  return at.slice(1).map((end, i) => {
    const start = at[i]!
    const here = places.filter((place) => place.start <= start && end <= place.end)
    return { text: text.slice(start, end), pointers: here.map(({ pointer }) => pointer) }
  })
}

/** How sure, in three steps that are told apart without colours too. */
export type Sureness = 'sure' | 'fair' | 'unsure'

export const surenessOf = (confidence: number): Sureness =>
  confidence >= 0.9 ? 'sure' : confidence >= 0.5 ? 'fair' : 'unsure'
