/** Of RFC 6901. */
const namesOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Undefined where a document has nothing there. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const name of namesOf(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** The document with another value there; as it is where it has nothing there. */
export function withValueAt<Document>(document: Document, pointer: string, value: unknown): Document {
  const put = (inside: unknown, [name, ...more]: readonly string[]): unknown => {
    if (name === undefined) return value
    if (typeof inside !== 'object' || inside === null || !Object.hasOwn(inside, name)) return inside
    if (Array.isArray(inside)) return inside.map((item, i) => (i === Number(name) ? put(item, more) : item))
    return { ...inside, [name]: put((inside as Record<string, unknown>)[name], more) }
  }
  return put(document, namesOf(pointer)) as Document
}
