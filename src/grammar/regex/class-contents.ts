import { type CharSet, negate, unite } from '../automata/charset.js'
import type { Node, NodeBuilder } from './regex-syntax.js'

/** What a character class of the `v` flag matches: characters, and texts that are not one character. */
export interface ClassContents {
  readonly set: CharSet
  readonly texts: ReadonlySet<string>
}

export const NO_TEXTS: ReadonlySet<string> = new Set()

export function unionOfContents(parts: readonly ClassContents[]): ClassContents {
  const texts = new Set(parts.flatMap((part) => [...part.texts]))
  return { set: unite(...new Set(parts.map((part) => part.set))), texts }
}

export function intersection(a: ClassContents, b: ClassContents): ClassContents {
  const set = negate(unite(negate(a.set), negate(b.set)))
  return { set, texts: new Set([...a.texts].filter((text) => b.texts.has(text))) }
}

export function lessContents(a: ClassContents, b: ClassContents): ClassContents {
  const set = negate(unite(negate(a.set), b.set))
  return { set, texts: new Set([...a.texts].filter((text) => !b.texts.has(text))) }
}

/** `single`: one character as the parser has it. */
export function nodeOf(
  { set, texts }: ClassContents,
  nodes: NodeBuilder,
  single: (codePoint: number) => CharSet,
): Node {
  if (texts.size === 0) return { kind: 'set', set }
  const spelled = [...texts].map((text) =>
    nodes.cat(Array.from(text, (char): Node => ({ kind: 'set', set: single(char.codePointAt(0)!) }))),
  )
  return nodes.alt([...spelled, { kind: 'set', set }])
}
