import { Lexer, type Token } from 'marked'
import { expect, test } from 'vitest'
import { BlockReader } from '../../apps/playground/page/markdown.js'
import { randomness } from '../../src/grammar/testing.test-helper.js'
import { runs } from '../support/full.js'

/** Each takes in, ends or changes what stands before or after it. */
const LINES =
  `Some *words*.;a | b;--|--;- one;  more of it;    code;2. two;* * *;===;> said;\`\`\`js;\`\`\`inline\`\`\`;
<div>;<!-- a note;-->;# Head;"a title";[name], and [another][name];[name]: https://example.com;;;`.split(/;\n?/)

/** How many blank lines end a block makes no difference to it. */
const drawn = (tokens: readonly Token[]): unknown =>
  JSON.parse(JSON.stringify(tokens, (key, value) => (key === 'raw' ? undefined : value)))

test('reads a text piece by piece as it reads it whole', () => {
  for (let seed = 0; seed < runs(2400); seed++) {
    const number = randomness(seed)
    const below = (end: number) => Math.floor(number() * end)
    const text = Array.from({ length: 24 }, () => LINES[below(LINES.length)]).join(below(2) === 0 ? '\n' : '\r\n')
    const reader = new BlockReader()
    const standing: Token[] = []
    for (let end = 0; end < text.length; ) {
      end += 1 + below(9)
      const { settled, open } = reader.read(text.slice(0, end))
      standing.splice(settled, standing.length, ...open)
    }
    const whole = new Lexer().lex(text).filter(({ type }) => type !== 'space')
    expect(drawn(standing), text).toEqual(drawn(whole))
  }
})

test('does not read again what is settled, and begins anew where the text does', () => {
  const reader = new BlockReader()
  let text = ''
  for (let i = 1; i <= 1000; i++) {
    text += `Paragraph ${i}.\n\n`
    const { settled, open } = reader.read(text)
    expect(settled + open.length).toBe(i)
    expect(open.length).toBeLessThan(4)
  }
  const { settled, open } = reader.read('Other.\n\nAnother.')
  expect([settled, open.length]).toEqual([0, 2])
})
