import { describe, expect, it } from 'vitest'
import { lark } from '../structured.js'

/** In the manner of what agents publish for their tools: indented, with aliases, bars on lines of their own, empty texts. */
const SUM = `
start: sum
sum: product (GAP PLUS GAP product)* -> sum
| product
product: number (GAP TIMES GAP number)* -> product
| number
number: INT
GAP: " "
PLUS: "+"
TIMES: "*"
%import common.INT
`
const EDITS = `
    // What may be done
    start: head edit+ tail
    head: "== Begin" LF
    tail: "== End" LF?

    edit: adds | drops | changes
    adds: "== Add: " name LF added+
    drops: "== Drop: " name LF
    changes: "== Change: " name LF moved? change?
    name: /(.+)/
    added: "+" /(.*)/ LF -> line
    moved: "== To: " name LF
    change: (place | line)+ end?
    place: ("@" | "@ " /(.+)/) LF
    line: ("+" | "-" | " ") /(.*)/ LF
    end: "== Last" LF

    %import common.LF
`

describe('grammars as agents publish them', () => {
  it.each([
    ['12', true],
    ['1 + 2 * 3 + 4', true],
    ['1 * 2', true],
    ['1+2', false],
    ['1 + ', false],
    ['', false],
  ])('sums: %j', (text, holds) => {
    expect(lark(SUM).accepts(text)).toBe(holds)
  })

  it.each([
    ['== Begin\n== Add: a\n+x\n+\n== End', true],
    ['== Begin\n== Drop: a\n== End\n', true],
    ['== Begin\n== Change: a\n== To: b\n@ f()\n x\n-y\n+z\n== Last\n== End', true],
    ['== Begin\n== Change: a\n== Drop: b\n== End', true],
    // Files of Windows: a line ends where its line feed is.
    ['== Begin\n== Add: a\n+x\r\n+\u2028\n== End', true],
    ['== Begin\n== Add: a\n== End', false],
    ['== Begin\n== End', false],
    ['== Begin\n== Add: a\nx\n== End', false],
    ['== Begin\n== Drop: a == End', false],
  ])('edits: %j', (text, holds) => {
    expect(lark(EDITS).accepts(text)).toBe(holds)
  })
})
