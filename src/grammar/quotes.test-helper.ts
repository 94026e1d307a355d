/** A string that is to be a quote. */
export const quoted = { type: 'string', 'x-quote': true } as const

const LETTERS = [
  'a',
  'b',
  'a',
  ' ',
  ' ',
  'ab',
  '1',
  ',',
  '.',
  '"',
  '\\',
  '\n',
  'é',
  'e\u0301',
  '語',
  '😀',
  '\u200b',
  '\u05d0',
]

/** Short texts in which little stands often. */
export function texts(random: () => number): string[] {
  const letters = LETTERS.filter(() => random() < 0.5)
  const letter = () => letters[Math.floor(random() * letters.length)] ?? 'a'
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    Array.from({ length: Math.floor(random() * 12) }, letter).join(''),
  )
}
