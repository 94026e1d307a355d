/** Which kind of value stands where in an answer. */
import type { JsonObject } from '../platform/index.js'

/** `form`: names and marks, which nobody has to find out. */
export const FIELD_KINDS = ['string', 'number', 'date', 'enum', 'boolean', 'list', 'form'] as const
export type FieldKind = (typeof FIELD_KINDS)[number]

const utf8 = new TextEncoder()

/** By bytes of the text. A value ends where the next name begins: what closes it has to be decided, too. */
export function kindsIn(text: string, schema: JsonObject): (at: number) => FieldKind {
  const borders: { readonly at: number; readonly kind: FieldKind }[] = []
  let from = 0
  for (const [name, value] of Object.entries((schema.properties ?? {}) as Record<string, JsonObject>)) {
    const key = `${JSON.stringify(name)}:`
    const at = text.indexOf(key, from)
    if (at < 0) continue
    from = at + key.length
    borders.push({ at: bytes(text, at), kind: 'form' }, { at: bytes(text, from), kind: kindOf(value) })
  }
  return (at) => borders.findLast((border) => border.at <= at)?.kind ?? 'form'
}

const bytes = (text: string, to: number) => utf8.encode(text.slice(0, to)).length

const BY_TYPE = new Map<unknown, FieldKind>([
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['array', 'list'],
])

function kindOf({ enum: options, format, type }: JsonObject): FieldKind {
  if (options) return 'enum'
  if (format === 'date' || format === 'date-time') return 'date'
  return BY_TYPE.get(type) ?? 'string'
}
