import { type PartialJson, readPartial } from './partial-json.js'

/** What is certain of a document that is still being written: members that have not begun are not there. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T

export interface PartialOptions {
  /**
   * Texts that are still being written: as far as they go, which is none of what an `enum` lists, or left out.
   * @default 'growing'
   */
  readonly strings?: 'growing' | 'whole'
}

/**
 * The value of JSON's beginning; undefined while there is none. A number is there once what follows it shows that it has
 * ended, so none is ever cut short; likewise words. What is there is never taken back: texts, objects and arrays grow.
 * Where the text stops being JSON it is read no further.
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
