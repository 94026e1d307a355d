/** What a grammar derives, found by brute force: a plain chart of which rule derives which part of a text. Shares no code. */
export type Plain =
  | string
  | RegExp
  | { readonly all: readonly Plain[] }
  | { readonly any: readonly Plain[] }
  | { readonly rule: string }

/** Whether `start` derives the text: the least set of (rule, from, to) that the rules close. */
export function derives(rules: Readonly<Record<string, Plain>>, start: string, text: string): boolean {
  const found = new Set<string>()
  const ends = (plain: Plain, from: number): Set<number> => {
    if (typeof plain === 'string') return new Set(text.startsWith(plain, from) ? [from + plain.length] : [])
    if (plain instanceof RegExp) {
      const whole = new RegExp(`^(?:${plain.source})$`, plain.flags)
      const reached = new Set<number>()
      for (let to = from; to <= text.length; to++) if (whole.test(text.slice(from, to))) reached.add(to)
      return reached
    }
    if ('any' in plain) return new Set(plain.any.flatMap((one) => [...ends(one, from)]))
    if ('all' in plain) {
      let reached = new Set([from])
      for (const part of plain.all) reached = new Set([...reached].flatMap((at) => [...ends(part, at)]))
      return reached
    }
    const reached = new Set<number>()
    for (let to = from; to <= text.length; to++) if (found.has(`${plain.rule} ${from} ${to}`)) reached.add(to)
    return reached
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const [name, plain] of Object.entries(rules)) {
      for (let from = 0; from <= text.length; from++)
        for (const to of ends(plain, from)) found.add(`${name} ${from} ${to}`)
    }
  }
  return found.has(`${start} 0 ${text.length}`)
}

/** All texts of up to so many of these letters. */
export function textsOf(letters: Iterable<string>, most: number): string[] {
  const all = ['']
  for (let from = 0, length = 0; length < most; length++) {
    const end = all.length
    for (; from < end; from++) for (const letter of letters) all.push(all[from]! + letter)
  }
  return all
}
