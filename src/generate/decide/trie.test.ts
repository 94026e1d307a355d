import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { logSum, OptionTrie, sharesOf } from './trie.js'

const ENDS = [90, 91]

/** Log probability of a token after these: any model will do. */
function logprob(before: readonly number[], token: number): number {
  const mixed = before.reduce((sum, one, i) => (sum * 31 + one * (i + 7)) % 1009, 17)
  return -((mixed + token * 13) % 97) / 10 - 0.1
}

/** Each option by itself, token by token. */
function alone(option: readonly number[], ends: readonly number[]): number {
  const total = option.reduce((sum, token, i) => sum + logprob(option.slice(0, i), token), 0)
  return ends.length === 0
    ? total
    : total + Math.log(ends.reduce((sum, end) => sum + Math.exp(logprob(option, end)), 0))
}

/** Asks a model whatever is to be asked; gives back after which tokens it did. */
function ask(trie: OptionTrie): string[] {
  const places: string[] = []
  const logprobsAt = (path: readonly number[], tokens: readonly number[]) => {
    places.push(path.join())
    if (new Set(tokens).size < tokens.length) throw new Error(`${tokens} are asked twice`)
    return tokens.map((token) => logprob(path, token))
  }
  if (trie.open) trie.take(logprobsAt([], trie.candidates()))
  for (const walk of trie.walks()) {
    for (let at = walk.from; at < walk.path.length; at++)
      walk.take(at, logprobsAt(walk.path.slice(0, at + 1), walk.candidates(at)))
  }
  return places
}

const options = fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 5 }), { minLength: 1, maxLength: 8 })

describe('options that share their beginnings', () => {
  it.each([
    ['ended by nothing', []],
    ['ended by one of two tokens', ENDS],
  ])('are as likely as each is by itself, and no place is asked twice: %s', (_, ends) => {
    fc.assert(
      fc.property(options, (all) => {
        const trie = new OptionTrie(all, ends)
        const places = ask(trie)
        expect(new Set(places).size).toBe(places.length)
        const off = trie.scores().map((score, i) => Math.abs(score - alone(all[i]!, ends)))
        expect(Math.max(...off)).toBeLessThan(1e-9)
        // What is read of them, beyond the question.
        expect(trie.tokens).toBe(places.filter((place) => place !== '').length)
      }),
    )
  })

  it('are asked for after what they share, together with what ends one of them', () => {
    const all = [[1, 2], [1, 3], [4], [1]]
    const trie = new OptionTrie(all, ENDS)
    expect(trie.candidates()).toEqual([1, 4])
    const [first, second, third] = trie.walks()
    expect([first?.path, first?.candidates(0), first?.candidates(1)]).toEqual([[1, 2], [2, 3, ...ENDS], ENDS])
    expect([second?.path, second?.candidates(0), second?.candidates(1)]).toEqual([[1, 3], [2, 3, ...ENDS], ENDS])
    expect([third?.path, third?.candidates(0)]).toEqual([[4], ENDS])
    expect(new OptionTrie(all, []).walks().map((walk) => [walk.path, walk.candidates(0)])).toEqual([[[1], [2, 3]]])
  })

  it('are read in as few walks as they branch, each from where the one before left it', () => {
    const walks = (all: number[][], ends: number[] = []) => new OptionTrie(all, ends).walks()
    expect(walks([[1], [2]])).toEqual([])
    expect(walks([[1], [2]], ENDS)).toMatchObject([
      { path: [1], from: 0 },
      { path: [2], from: 0 },
    ])
    // Of each the last token needs not be read.
    expect(
      walks([
        [1, 2, 3, 4],
        [1, 2, 5, 6],
        [7, 8],
      ]),
    ).toMatchObject([
      { path: [1, 2, 3], from: 0, stops: [2, 3] },
      { path: [1, 2, 5], from: 2, stops: [2, 3] },
      { path: [7], from: 0, stops: [1] },
    ])
  })

  it('are put together with pauses where they are long, to the same', () => {
    const long = [0, 1, 2].map((option) => Array.from({ length: 20_000 }, (_, i) => (i < 9000 ? i : i + option)))
    const made = vi.spyOn(Map.prototype, 'set')
    let [most, before] = [0, 0]
    const work = OptionTrie.inSlices(long, ENDS)
    let next = work.next()
    for (; ; next = work.next()) {
      most = Math.max(most, made.mock.calls.length - before)
      before = made.mock.calls.length
      if (next.done) break
    }
    made.mockRestore()
    expect(before).toBe(9000 + 3 * 11_000)
    expect(most).toBeLessThan(before / 10)
    const whole = new OptionTrie(long, ENDS)
    expect(next.value?.tokens).toBe(whole.tokens)
    expect(next.value?.walks()).toEqual(whole.walks())
  })

  it('ask nothing where there is nothing to tell apart', () => {
    expect(new OptionTrie([[], []], []).open).toBe(false)
    expect(new OptionTrie([[]], ENDS).open).toBe(true)
    expect(new OptionTrie([[], [5]], []).open).toBe(true)
    expect(new OptionTrie([[]], ENDS).candidates()).toEqual(ENDS)
  })
})

describe('shares', () => {
  it('are what each has of all, and the mass is what all have', () => {
    fc.assert(
      fc.property(options, (all) => {
        const trie = new OptionTrie(all, ENDS)
        ask(trie)
        const each = all.map((option) => Math.exp(alone(option, ENDS)))
        const sum = each.reduce((total, one) => total + one)
        const { probabilities, mass } = sharesOf(trie)
        expect(mass).toBeCloseTo(sum, 12)
        const off = probabilities.map((one, i) => Math.abs(one - each[i]! / sum))
        expect(Math.max(...off)).toBeLessThan(1e-9)
      }),
    )
  })

  it('come of numbers of any size', () => {
    expect(logSum([1000, 1000])).toBeCloseTo(1000 + Math.log(2), 9)
    expect(logSum([-1000, -1000, Number.NEGATIVE_INFINITY])).toBeCloseTo(-1000 + Math.log(2), 9)
    expect(logSum([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY])).toBe(Number.NEGATIVE_INFINITY)
    expect(logSum([Math.log(0.25), Math.log(0.5)])).toBeCloseTo(Math.log(0.75), 12)
  })
})
