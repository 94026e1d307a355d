import { type PartialJson, readPartial } from './partial-json.js'

/** A document that is still being written: properties that have not begun are absent. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T

export interface PartialOptions {
  /**
   * Unfinished strings: `growing` has their beginning (so it may not be a value of an `enum`), `whole` leaves them out.
   * @default 'growing'
   */
  readonly strings?: 'growing' | 'whole'
}

/**
 * The value of the beginning of a JSON text; undefined if there is none yet. A number appears only when the text after it
 * shows that it has ended; so do `true`, `false` and `null`. Nothing is removed later: strings, objects and arrays grow.
 * If the text is not JSON from some place on, the rest is ignored.
 */
export function partial<T = unknown>(
  text: string,
  { strings = 'growing' }: PartialOptions = {},
): DeepPartial<T> | undefined {
  const read = readPartial(text)
  return read && (certainOf(read, strings === 'whole')?.[0] as DeepPartial<T> | undefined)
}

/** In a box, as `undefined` means that there is nothing yet. */
type Certain = [value: unknown] | undefined

function certainOf(read: PartialJson, whole: boolean): Certain {
  if (read.kind === 'object') {
    // Not by assignment: `__proto__` is a name like any other.
    const certain = read.entries.map(([key, value]) => [key, certainOf(value, whole)] as const)
    return [Object.fromEntries(certain.flatMap(([key, value]) => (value ? [[key, value[0]]] : [])))]
  }
  if (read.kind === 'array') return [read.items.flatMap((item) => certainOf(item, whole) ?? [])]
  if (read.kind === 'string') return read.done || !whole ? [read.text] : undefined
  return read.done ? [JSON.parse(read.text)] : undefined
}
