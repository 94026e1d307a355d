/** JSON values as data: equality, order of keys, one spelling per value. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function has(object: Record<string, unknown>, key: string): boolean {
  return Object.hasOwn(object, key)
}

/** A text that two values share exactly if JSON Schema calls them equal: keys in any order, 1 and 1.0 alike. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value === 0 ? 0 : value)
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

export type JsonKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

export function kindOf(value: unknown): JsonKind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as JsonKind
}

/** The number of Unicode code points, which is how JSON Schema measures a string. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
