import { describe, expect, it, vi } from 'vitest'
import { atOnce } from '../../platform/turns.js'
import { Classes } from '../automata/classes.js'
import { SparseAutomaton } from '../automata/sparse.js'
import { stretchesOf } from '../automata/stretches-of.js'
import { TableAutomaton } from '../automata/table.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from '../regex/regex.js'
import { cheapestEnds, sizesOf } from './cheapest-ends.js'
import { encoded } from './text-length.js'

const PATTERNS = [
  ...['^a*$', '^(?:ab|c)*d$', '^[é-ü]+x$', '^(?:["\\\\éa]a?)*$', '^(?:a[abé"]é|b[ab]")$', '^(?:é|aa)c*d$'],
  ...['^[^"]*("x{4})?$', '^\\p{L}+$', '^[\\u0000-\\u001f]+$', '^[\\u0000-\\u0007]+a$', '^[\\u{10000}-\\u{10ffff}]a$'],
]

/** All but those whose classes hold nothing below, and where they end. */
const CODE_POINTS = [...Array(0x3000).keys(), 0xfffd, 0xffff, 0x10000, 0x10ffff]

function sizes(pattern: string, bytesOf = encoded) {
  const text = compileRegex(pattern)
  return { text, ...sizesOf(text.classes, bytesOf) }
}

describe('how few bytes a character of each class takes', () => {
  it.each(PATTERNS)('is told with one of those that take so many: %s', (pattern) => {
    const { text, samples, bytes, even } = sizes(pattern)
    const least = new Array<number>(text.classes.count).fill(Infinity)
    for (const codePoint of CODE_POINTS) {
      const cls = text.classes.of(codePoint)
      least[cls] = Math.min(least[cls]!, encoded(codePoint).length)
    }
    for (let cls = 1; cls < text.classes.count; cls++) {
      if (least[cls] === Infinity) continue
      expect([cls, bytes[cls], encoded(samples[cls]!).length]).toEqual([cls, least[cls], least[cls]])
      expect(text.classes.of(samples[cls]!)).toBe(cls)
      // What stands for the class otherwise stays where it is as cheap.
      const usual = text.classes.sample(cls)
      if (encoded(usual).length === bytes[cls]) expect(samples[cls]).toBe(usual)
    }
    const all = [...bytes].slice(1)
    expect(even).toBe(all.every((size) => size === all[0]))
  })

  it('is one byte wherever ASCII has one, whatever else there is', () => {
    // From U+0070 to U+00FF: the first of them is the cheapest, however the class is sampled.
    const classes = new Classes([0, 0x70, 0x100], [1, 2, 1], 3)
    const dear = (codePoint: number) => 'x'.repeat(codePoint === 0x70 ? 1 : codePoint < 0x80 ? 4 : 2)
    const { samples, bytes } = sizesOf(classes, dear)
    expect([samples[2], bytes[2]]).toEqual([0x70, 1])
    // Of the rest those beyond ASCII: they are found where an interval begins before it.
    const { samples: others, bytes: theirs } = sizesOf(new Classes([0, 0x71, 0x100], [1, 2, 1], 3), dear)
    expect([others[2], theirs[2]]).toEqual([0x80, 2])
    expect(theirs[1]).toBe(1)
    // Be it but one.
    const { samples: last } = sizesOf(new Classes([0, 0x71, 0x81], [1, 2, 1], 3), dear)
    expect(last[2]).toBe(0x80)
  })

  it('is even where all take the same', () => {
    expect(sizes('^[ab]*$', () => 'x').even).toBe(true)
    expect(sizes('^[ab]*$', (codePoint) => (codePoint === 0x61 || codePoint === 0x62 ? 'xx' : 'x')).even).toBe(false)
  })
})

/** By the definition: until nothing becomes cheaper. */
function leastOf(text: TextAutomaton, bytes: Uint8Array, end: (state: number) => number): Map<number, number> {
  const least = new Map<number, number>()
  const ways: [from: number, to: number, bytes: number][] = []
  const states = new Set([text.start])
  for (const state of states) {
    least.set(state, end(state))
    for (let cls = 1; cls < text.classes.count; cls++) {
      const next = text.step(state, cls)
      if (next === DEAD) continue
      states.add(next)
      ways.push([state, next, bytes[cls]!])
    }
  }
  for (let changed = true; changed; ) {
    changed = false
    for (const [from, to, own] of ways) {
      const through = least.get(to)! + own
      if (through >= least.get(from)!) continue
      least.set(from, through)
      changed = true
    }
  }
  return least
}

/** The same language, of an automaton that has no table; `steps` counts its steps. */
function withoutTable(text: TextAutomaton) {
  const seen = { steps: 0 }
  const other = {
    start: text.start,
    classes: text.classes,
    step(state: number, cls: number) {
      seen.steps++
      return text.step(state, cls)
    },
  } as unknown as TextAutomaton
  return { other, seen }
}

const ENDS: readonly [string, (text: TextAutomaton) => (state: number) => number][] = [
  ['cost nothing', (text) => (state) => (text.accepts(state) ? 0 : Infinity)],
  ['cost different sums', (text) => (state) => (text.accepts(state) ? 1 + ((state * 5) % 7) : Infinity)],
  ['are everywhere', () => (state) => (state * 3) % 11],
]

describe.each(ENDS)('the cheapest way to an end, where ends %s', (_, endOf) => {
  it.each(PATTERNS)('is the least of all ways, from every state: %s', (pattern) => {
    const { text, ...of } = sizes(pattern)
    expect(text).toBeInstanceOf(TableAutomaton)
    const { other } = withoutTable(text)
    const end = endOf(text)
    const least = leastOf(text, of.bytes, end)
    for (const form of [text, other]) {
      const { from } = cheapestEnds(form, of, end)!
      for (const [state, cost] of least) expect([state, from(state)]).toEqual([state, cost])
      expect(from(DEAD)).toBe(Infinity)
    }
    const all = cheapestEnds(text, of, end)!.all!
    expect([...least].map(([state]) => all[state])).toEqual([...least.values()])
  })

  it('is the least in a text of which parts are taken', () => {
    for (const source of ['of all "things" that a text says', 'é\\"é "a" é', '']) {
      const text = atOnce(stretchesOf([source])).whole
      expect(text).toBeInstanceOf(SparseAutomaton)
      const of = sizesOf(text.classes, encoded)
      const end = endOf(text)
      const { from, all } = cheapestEnds(text, of, end)!
      if (text.empty) continue
      for (const [state, cost] of leastOf(text, of.bytes, end)) expect([from(state), all![state]]).toEqual([cost, cost])
      expect(from(text.states + 5)).toBe(Infinity)
    }
  })
})

describe('an automaton without a table', () => {
  it('is walked once, by each of its states and classes, whatever ends cost', () => {
    const { text, ...of } = sizes('^(?:ab|c)*d$')
    const { other, seen } = withoutTable(text)
    cheapestEnds(other, of, () => 0)
    const once = seen.steps
    expect(once).toBe(leastOf(text, of.bytes, () => 0).size * (text.classes.count - 1))
    cheapestEnds(other, of, () => 1)
    expect(seen.steps).toBe(once)
    expect(cheapestEnds(other, of, () => 0)!.from(12_345)).toBe(Infinity)
  })

  it('is the only one that is walked', () => {
    // No other test has had this one.
    const { text, ...of } = sizes('^(?:bd|c)*d$')
    const step = vi.spyOn(text, 'step')
    expect(cheapestEnds(text, of, (state) => (text.accepts(state) ? 0 : Infinity))!.from(text.start)).toBe(1)
    expect(step).not.toHaveBeenCalled()
  })

  it('of as many states as a table may have cells for is known', () => {
    const classes = new Classes([0, 0x61, 0x62, 0x63], [1, 2, 3, 1], 4)
    const of = sizesOf(classes, encoded)
    // Before the last one a row of four for each state, and one for the dead state.
    const known = [10_000, 10_001].map((states) => {
      const chain = { start: 1, classes, step: (state: number) => (state < states ? state + 1 : DEAD) }
      return cheapestEnds(chain as unknown as TextAutomaton, of, (state) => (state === states ? 0 : Infinity))?.from(1)
    })
    expect(known).toEqual([9_999, undefined])
  })

  it('of too many states is not known, and not walked again', () => {
    const classes = new Classes([0, 0x61, 0x62], [1, 2, 1], 3)
    let steps = 0
    const endless = {
      start: 1,
      classes,
      step(state: number) {
        steps++
        return state + 1
      },
    } as unknown as TextAutomaton
    const of = sizesOf(classes, encoded)
    expect(cheapestEnds(endless, of, () => 0)).toBeUndefined()
    expect(steps).toBeLessThan(40_000)
    const once = steps
    expect(cheapestEnds(endless, of, () => 0)).toBeUndefined()
    expect(steps).toBe(once)
  })

  it('is paid for by the size of its table', () => {
    const { text, ...of } = sizes('^[a-z]{3}(?:foo|bar)*\\d[xyz]$')
    const fuel = new Fuel(100_000)
    cheapestEnds(text, of, () => 0, fuel)
    expect(fuel.spent).toBe(((text as TableAutomaton).table.length / 16) | 0)
  })
})
