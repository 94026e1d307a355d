import type { Plain } from './rules.test-helper.js'

/**
 * How few letters complete a text to one that `start` derives; `Infinity`: none do. By brute force: which rule derives
 * which part of the text, and which rule how cheaply derives something that begins with what is left of it. Shares no
 * code with what it judges.
 */
export function missingLetters(rules: Readonly<Record<string, Plain>>, start: string, text: string): number {
  const names = Object.keys(rules)
  const shortest = leastOf(names, (name, known) => lengthOf(rules[name]!, known))
  const found = new Set<string>()
  const ends = (plain: Plain, from: number): number[] => {
    if (typeof plain === 'string') return text.startsWith(plain, from) ? [from + plain.length] : []
    if ('any' in plain) return [...new Set(plain.any.flatMap((one) => ends(one, from)))]
    if ('all' in plain) {
      return plain.all.reduce<number[]>(
        (reached, part) => [...new Set(reached.flatMap((at) => ends(part, at)))],
        [from],
      )
    }
    const to = Array.from({ length: text.length + 1 - from }, (_, i) => from + i)
    return to.filter((at) => found.has(`${(plain as { rule: string }).rule} ${from} ${at}`))
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const name of names) {
      for (let from = 0; from <= text.length; from++)
        for (const to of ends(rules[name]!, from)) found.add(`${name} ${from} ${to}`)
    }
  }
  const places = names.flatMap((name) => Array.from({ length: text.length + 1 }, (_, from) => `${name} ${from}`))
  const open = leastOf(places, (place, known) => {
    const [name, from] = place.split(' ')
    return openAt(rules[name!]!, Number(from), known)
  })
  function openAt(plain: Plain, from: number, known: ReadonlyMap<string, number>): number {
    const left = text.slice(from)
    if (typeof plain === 'string') return plain.startsWith(left) ? plain.length - left.length : Number.POSITIVE_INFINITY
    if ('any' in plain) return Math.min(...plain.any.map((one) => openAt(one, from, known)))
    if ('rule' in plain) return known.get(`${plain.rule} ${from}`)!
    let reached = [from]
    let least = Number.POSITIVE_INFINITY
    for (const [i, part] of (plain as { all: readonly Plain[] }).all.entries()) {
      const rest = (plain as { all: readonly Plain[] }).all.slice(i + 1)
      const after = rest.reduce<number>((sum, one) => sum + lengthOf(one, shortest), 0)
      for (const at of reached) least = Math.min(least, openAt(part, at, known) + after)
      reached = [...new Set(reached.flatMap((at) => ends(part, at)))]
    }
    return reached.includes(text.length) ? 0 : least
  }
  return open.get(`${start} 0`)!
}

function lengthOf(plain: Plain, known: ReadonlyMap<string, number>): number {
  if (typeof plain === 'string') return plain.length
  if ('any' in plain) return Math.min(...plain.any.map((one) => lengthOf(one, known)))
  if ('rule' in plain) return known.get(plain.rule)!
  return (plain as { all: readonly Plain[] }).all.reduce<number>((sum, one) => sum + lengthOf(one, known), 0)
}

/** The least numbers that satisfy all equations. */
function leastOf(keys: readonly string[], of: (key: string, known: ReadonlyMap<string, number>) => number) {
  const known = new Map(keys.map((key) => [key, Number.POSITIVE_INFINITY]))
  for (let changed = true; changed; ) {
    changed = false
    for (const key of keys) {
      const value = of(key, known)
      if (value >= known.get(key)!) continue
      known.set(key, value)
      changed = true
    }
  }
  return known
}

/** A grammar made by chance, as llama.cpp writes it and as plain data. */
export function chanceGrammar(
  random: () => number,
  size: number,
  letters: string,
): { gbnf: string; plain: Record<string, Plain> } {
  const plain: Record<string, Plain> = {}
  const below = (count: number) => Math.floor(random() * count)
  const names = ['root', ...Array.from({ length: size - 1 }, (_, i) => `r${i}`)]
  const lines: string[] = []
  let made = 0
  const atom = (depth: number): [string, Plain] => {
    const kind = below(10)
    if (kind < 4) {
      const text = Array.from({ length: 1 + +(random() < 0.2) }, () => letters[below(letters.length)]!).join('')
      return [`"${text}"`, text]
    }
    if (kind < 8 || depth > 2) {
      const name = names[below(names.length)]!
      return [name, { rule: name }]
    }
    const [text, inner] = choice(depth + 1)
    if (kind === 8) return [`(${text})`, inner]
    const name = `loop${made++}`
    const times = '*+?'[below(3)]!
    const all = { all: [inner, { rule: name }] }
    plain[name] = { any: times === '?' ? ['', inner] : ['', all] }
    return [`(${text})${times}`, times === '+' ? all : { rule: name }]
  }
  const choice = (depth: number): [string, Plain] => {
    const options = Array.from({ length: 1 + below(3) }, () => {
      const parts = Array.from({ length: below(4) }, () => atom(depth))
      return parts.length === 0
        ? (['""', ''] as [string, Plain])
        : ([parts.map(([text]) => text).join(' '), { all: parts.map(([, part]) => part) }] as [string, Plain])
    })
    return [options.map(([text]) => text).join(' | '), { any: options.map(([, option]) => option) }]
  }
  for (const name of names) {
    const [text, rule] = choice(0)
    lines.push(`${name} ::= ${text}`)
    plain[name] = rule
  }
  return { gbnf: lines.join('\n'), plain }
}
