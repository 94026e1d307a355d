import { describe, expect, it } from 'vitest'
import { USUAL_SAMPLING } from '../../contract/sampling.js'
import { Dry } from './dry.js'

/** Token 0 is a line's end, 1 a word with a star in it; all others are words. */
const tokenizer = { bytes: (id: number) => new TextEncoder().encode(['\n', 'a*b'][id] ?? `w${id}`) }
const BREAKS = [0, 1]
const settings = { ...USUAL_SAMPLING, dryMultiplier: 0.8 }

/** From the definition: the longest stretch at the end that stands earlier and is followed there by the token. */
function penaltyOf(all: readonly number[], token: number, { dryMultiplier, dryBase, ...of }: typeof settings): number {
  const tokens = of.dryPenaltyLastN < 0 ? all : all.slice(Math.max(0, all.length - of.dryPenaltyLastN))
  let longest = 0
  for (let length = 1; length < tokens.length; length++) {
    const end = tokens.slice(-length)
    if (end.some((each) => BREAKS.includes(each))) break
    const stands = tokens.some((_, at) => {
      return (
        at + length < tokens.length && end.every((each, i) => tokens[at + i] === each) && tokens[at + length] === token
      )
    })
    if (stands) longest = length
  }
  if (longest < of.dryAllowedLength || BREAKS.includes(token)) return 0
  return -dryMultiplier * dryBase ** (longest - of.dryAllowedLength)
}

describe('a stretch that is repeated', () => {
  it('makes what followed it less likely, the more the longer it is', () => {
    const dry = new Dry(settings, tokenizer)
    expect(dry.over([5, 6, 7, 8, 9, 5, 6])).toEqual(new Map([[7, -0.8]]))
    const longer = dry.over([5, 6, 7, 8, 9, 5, 6, 7])
    expect([...longer.keys()]).toEqual([8])
    expect(longer.get(8)).toBeCloseTo(-0.8 * 1.75, 6)
    expect(dry.over([5, 6, 7, 8, 9, 5])).toEqual(new Map())
  })

  it('is what the definition says, whatever was said', () => {
    let state = 7
    const next = (below: number) => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0
      return (state >>> 16) % below
    }
    for (let round = 0; round < 300; round++) {
      const options = {
        ...settings,
        dryBase: 1 + next(20) / 10,
        dryAllowedLength: 1 + next(3),
        dryPenaltyLastN: next(2) === 0 ? -1 : next(14),
      }
      const tokens = Array.from({ length: next(24) }, () => next(5))
      const got = new Dry(options, tokenizer).over(tokens)
      for (let token = 0; token < 5; token++) {
        expect(got.get(token) ?? 0, `${token} after ${tokens} by ${JSON.stringify(options)}`).toBeCloseTo(
          penaltyOf(tokens, token, options),
          6,
        )
      }
    }
  })

  it('comes to what else is added, and stays a number however long it is', () => {
    const dry = new Dry({ ...settings, dryBase: 10 }, tokenizer)
    const tokens = Array.from({ length: 400 }, (_, i) => 2 + (i % 200))
    const bias = new Map([[2, 5]])
    const got = dry.over(tokens, bias)
    expect(Math.fround(got.get(2)!)).toBeGreaterThan(Number.NEGATIVE_INFINITY)
    expect(got.get(2)).toBeLessThan(-1e30)
    expect(bias).toEqual(new Map([[2, 5]]))
    expect(dry.over([3, 4], bias)).toEqual(bias)
  })

  it('is found by looking at each token a few times, however often one is said', () => {
    let looks = 0
    const get: ProxyHandler<number[]>['get'] = (tokens, key) => {
      looks++
      return Reflect.get(tokens, key)
    }
    const dry = new Dry({ ...settings, dryPenaltyLastN: -1 }, tokenizer)
    expect(dry.over(new Proxy(new Array<number>(1000).fill(2), { get })).has(2)).toBe(true)
    expect(looks).toBeLessThan(20 * 1000)
  })
})
