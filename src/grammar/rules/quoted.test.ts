import { describe, expect, it } from 'vitest'
import type { TextPart } from '../../contract/engine.js'
import { fromSource, lark, quoted } from '../structured.js'
import { textsOf } from './rules.test-helper.js'

const LETTERS = 'a"\\\nu0\u0001é'
const PARTS: readonly TextPart[] = [
  'a"\\\n',
  { regex: '[^a]*' },
  { regex: '["\\\\]{1,2}|\\n+|u0*' },
  { regex: '[\\u0000-\\u001f]+' },
  { choice: ['a', '"', 'a\\', '\n\n', ''] },
  { sequence: ['"', { repeat: { choice: ['\\', { regex: '.' }] }, min: 1, max: 2 }, { upTo: '"' }] },
  { without: ['a"', '\\'] },
  { lark: 'start: "a" start "\\"" | /[\\n\\\\]/' },
  { gbnf: 'root ::= "(" root ")" | [^a]? "\\n"' },
]

describe('a quoted grammar', () => {
  it.each(PARTS)('holds of each text the one way in which JSON writes it: %j', (part) => {
    const plain = fromSource({ sequence: [part] })
    const quoted = fromSource({ quoted: part })
    for (const text of [...textsOf(LETTERS, 3), '(\n)', '((é\n))']) {
      expect(quoted.accepts(JSON.stringify(text)), JSON.stringify(text)).toBe(plain.accepts(text))
    }
  })

  it.each(PARTS)('holds nothing else: %j', (part) => {
    const plain = fromSource({ sequence: [part] })
    const quoted = fromSource({ quoted: part })
    for (const inside of textsOf('a"\\nu01', 4)) {
      const written = `"${inside}"`
      let parsed: unknown
      try {
        parsed = JSON.parse(written)
      } catch {}
      const is = typeof parsed === 'string' && JSON.stringify(parsed) === written && plain.accepts(parsed)
      expect(quoted.accepts(written), written).toBe(is)
    }
    for (const other of ['"a"', '"\\u000a"', '"\\/"', '"\\u0001', 'a', '""a', '']) {
      const parsed = /^"(?:[^"\\]|\\.)*"$/.test(other) ? (JSON.parse(other) as string) : undefined
      const is = parsed !== undefined && JSON.stringify(parsed) === other && plain.accepts(parsed)
      expect(quoted.accepts(other), other).toBe(is)
    }
  })

  it('holds neither JSON nor tokens nor another', () => {
    for (const [part, why] of [
      [{ schema: {} }, /JSON cannot be inside 'quoted'/],
      [{ token: '<x>' }, /a token cannot be inside 'quoted'/],
      [{ quoted: 'a' }, /'quoted' is inside another/],
    ] as const)
      expect(() => fromSource({ quoted: { sequence: ['a', part] } })).toThrow(why)
    expect(quoted(lark('start: "a"')).accepts('"a"')).toBe(true)
    expect(fromSource({ sequence: [{ quoted: 'é"' }, 'é"'] }).accepts('"é\\""é"')).toBe(true)
  })
})
