import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import type { Part } from '../../contract/engine.js'
import { finish, text } from '../v1.test-helper.js'
import { InOrder } from './in-order.js'

const call = (index: number, args: string): Part => ({
  ...{ type: 'tool-call-delta', choice: 0, index, arguments: args },
})

function told(parts: readonly Part[]): Part[] {
  const said: Part[] = []
  const order = new InOrder((part) => said.push(part))
  for (const part of parts) order.take(part)
  return said
}

const sourceOf = (part: Part): string =>
  part.type === 'tool-call-delta' ? `call ${part.index}` : part.type === 'text-delta' ? 'text' : part.type

/** Arguments in pieces: whole, or cut off, or none. */
const args = fc
  .tuple(
    fc.constantFrom('{}', '{"a":{"b":"}"}}', '{"a":[1,{}', '', '[1]', '{"a":"{}"} '),
    fc.array(fc.nat(9), { maxLength: 4 }),
  )
  .map(([json, cuts]) => {
    const places = [...new Set([0, ...cuts.filter((cut) => cut < json.length)])].sort((a, b) => a - b)
    return places.map((place, i) => json.slice(place, places[i + 1]))
  })

const aMixture = fc
  .record({ calls: fc.array(args, { maxLength: 4 }), texts: fc.array(fc.constantFrom('a', ' b'), { maxLength: 3 }) })
  .chain(({ calls, texts }) => {
    const sources = [
      ...calls.map((pieces, i) => pieces.map((piece) => call(i, piece))),
      texts.map((each) => text(each)),
    ]
    const slots = sources.flatMap((parts, i) => parts.map(() => i))
    return fc.shuffledSubarray(slots, { minLength: slots.length, maxLength: slots.length }).map((order) => {
      const left = sources.map((parts) => [...parts])
      return [...order.map((i) => left[i]!.shift()!), finish()]
    })
  })

it('nothing is lost, each source keeps its order, and no call is told in two places', () => {
  fc.assert(
    fc.property(aMixture, (parts) => {
      const said = told(parts)
      for (const source of new Set(parts.map(sourceOf))) {
        const of = (list: readonly Part[]) => list.filter((part) => sourceOf(part) === source)
        // Blanks behind arguments that are whole say nothing.
        const words = (list: readonly Part[]) =>
          of(list)
            .map((part) => ('arguments' in part ? part.arguments : 'text' in part ? part.text : ''))
            .join('')
        expect(words(said).trimEnd()).toBe(words(parts).trimEnd())
        if (!source.startsWith('call')) continue
        const places = said.flatMap((part, i) => (sourceOf(part) === source ? [i] : []))
        expect(places).toEqual(places.map((_, i) => places[0]! + i))
      }
      expect(said.at(-1)).toEqual(finish())
    }),
  )
})

it('what needs not wait is told at once', () => {
  const parts = [text('a'), call(0, '{"a":'), call(0, '1}'), call(1, '{'), call(1, '}'), text('b'), call(2, '{}')]
  const said: Part[] = []
  const order = new InOrder((part) => said.push(part))
  for (const [i, part] of parts.entries()) {
    order.take(part)
    expect(said).toHaveLength(i + 1)
  }
  // A call that is whole lets those go on that wait for it.
  const mixed = [call(0, '{"a"'), call(1, '{'), call(1, '}'), call(0, ':1}')]
  expect(told(mixed)).toEqual([mixed[0], mixed[3], mixed[1], mixed[2]])
})

it('a call that goes on once it is over is the engine’s fault', () => {
  expect(() => told([call(0, '{}'), call(1, '{}'), call(0, '{}')])).toThrow(/tool call 0/)
})

it('a call that others wait for is not read anew with each of its pieces', () => {
  // Cut between a backslash and what it escapes.
  const items = Array.from({ length: 200 }, () => [',{"x":"\\', '"}{"}'])
  const long = (index: number) => ['{"a":[{}', ...items.flat(), ']}'].map((piece) => call(index, piece))
  const [one, other] = [long(0), long(1)]
  const parse = vi.spyOn(JSON, 'parse')
  const said = told([...one.flatMap((part, i) => [part, other[i]!]), finish()])
  const read = parse.mock.calls.reduce((sum, [json]) => sum + json.length, 0)
  parse.mockRestore()
  expect(read).toBeLessThan(10 * one.length)
  expect(said).toEqual([...one, ...other, finish()])
})

it('a call is whole where its arguments are, wherever they are cut', () => {
  const json = '{"a}":"}\\"}{\\\\","b":[{},{"c":"]}"}],"d":{}}'
  for (let at = 1; at < json.length; at++) {
    const [one, rest, other] = [call(0, json.slice(0, at)), call(0, json.slice(at)), call(1, '{}')]
    expect(told([one, other, rest])).toEqual([one, rest, other])
    expect(told([one, rest, other])).toEqual([one, rest, other])
    // And may be followed by blanks, which say nothing any more once another has begun.
    expect(told([one, rest, other, call(0, ' \n')])).toEqual([one, rest, other])
  }
})

it('what says nothing waits for no call, and ends none', () => {
  const usage: Part = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 } }
  const prompt = { type: 'prompt' } as unknown as Part
  for (const other of [usage, prompt]) {
    const parts = [call(0, '{"a"'), other, call(0, ':1}'), other, call(0, ' ')]
    expect(told(parts)).toEqual(parts)
  }
})
