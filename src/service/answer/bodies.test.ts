import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { V1Error } from '../../contract/errors.js'
import { BEGIN_PER_TURN } from '../../platform/turns.js'
import { Bodies, type BodyRoom, inflated, isReadable } from './bodies.js'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Rooms by name, the first letter of which is the caller, and who was given up, in order. */
function arriving(limit: number) {
  const bodies = new Bodies(limit)
  const given: string[] = []
  const errors: unknown[] = []
  const begin = (name: string): BodyRoom => {
    const room = bodies.begin(name[0]!)
    room.onGivenUp = (error) => {
      given.push(name)
      errors.push(error)
    }
    return room
  }
  return { bodies, given, errors, begin }
}

describe('large bodies', () => {
  it('of one caller are read one after the other, whatever comes of them; those of others meanwhile', async () => {
    const bodies = new Bodies(100)
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const read = (name: string, fails = false) =>
      bodies.inLine(name[0]!, async () => {
        begun.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
        if (fails) throw new Error(name)
        return name
      })
    const all = [read('a1', true), read('a2'), read('b1'), read('a3')]
    expect(begun).toEqual(['a1', 'b1'])
    ends.get('a1')!()
    await expect(all[0]).rejects.toThrow('a1')
    await vi.waitFor(() => expect(begun).toEqual(['a1', 'b1', 'a2']))
    all.push(read('a4'))
    ends.get('a2')!()
    expect(await all[1]).toBe('a2')
    await vi.waitFor(() => expect(begun.slice(3)).toEqual(['a3']))
    for (const name of ['b1', 'a3']) ends.get(name)!()
    await vi.waitFor(() => expect(begun.slice(4)).toEqual(['a4']))
    ends.get('a4')!()
    expect(await Promise.all(all.slice(2))).toEqual(['b1', 'a3', 'a4'])
    // Nobody is before it any more.
    void read('a5')
    expect(begun.at(-1)).toBe('a5')
  })
})

describe('the memory of bodies on their way', () => {
  it('is what each of them holds now, until it is done', () => {
    const { bodies, given, begin } = arriving(100)
    const [a, b] = [begin('a'), begin('b')]
    a.hold(60)
    b.hold(40)
    expect(bodies.held).toBe(100)
    a.hold(20)
    expect(bodies.held).toBe(60)
    for (const room of [a, b, a, b]) room.done()
    expect([bodies.held, given]).toEqual([0, []])
  })

  it('is taken from the oldest of whoever holds the most, who is told what to do', () => {
    const { given, errors, begin } = arriving(100)
    // The oldest of b holds nothing: it would be given up for nothing.
    const [a1, , b1, a2, b2] = ['a1', 'b0', 'b1', 'a2', 'b2'].map(begin) as [BodyRoom, BodyRoom, ...BodyRoom[]]
    a1.hold(25)
    b1!.hold(45)
    a2!.hold(25)
    b2!.hold(10)
    expect(given).toEqual(['b1'])
    expect(errors[0]).toMatchObject({ status: 503, code: 'too_many_bodies', retryAfter: 1 })
    expect((errors[0] as V1Error).message).toContain('More than 100 bytes of unfinished requests')
  })

  it('holds nothing for who was given up, or is done, however late they hear of it', () => {
    const { bodies, given, begin } = arriving(100)
    const [late, over, other] = [begin('a'), begin('b'), begin('c')]
    late.hold(90)
    other.hold(50)
    expect(given).toEqual(['a'])
    over.done()
    for (const room of [late, over]) room.hold(80)
    expect(bodies.held).toBe(50)
    for (const room of [late, over, other]) room.done()
    expect(bodies.held).toBe(0)
    begin('d').hold(100)
    expect(given).toEqual(['a'])
  })

  it('is never more than may be held, nor less than those hold who are left', () => {
    const act = fc.record({
      name: fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1'),
      bytes: fc.nat(60),
      done: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const { bodies, given, begin } = arriving(100)
        const rooms = new Map<string, { room: BodyRoom; held: number }>()
        for (const { name, bytes, done } of acts) {
          const one = rooms.get(name) ?? { room: begin(name), held: 0 }
          rooms.set(name, one)
          if (done) {
            one.room.done()
            rooms.delete(name)
          } else {
            one.held = bytes
            one.room.hold(bytes)
          }
          for (const gone of given.splice(0)) rooms.delete(gone)
          expect(bodies.held).toBe([...rooms.values()].reduce((sum, { held }) => sum + held, 0))
          expect(bodies.held).toBeLessThanOrEqual(100)
        }
        for (const { room } of rooms.values()) room.done()
        expect(bodies.held).toBe(0)
      }),
    )
  })
})

it('pieces of bodies come in turns, of all bodies together: of those that are there at once the last ones wait', async () => {
  const { begin } = arriving(100)
  const rooms = ['a', 'b'].map(begin)
  const turns = Array.from({ length: BEGIN_PER_TURN + 1 }, (_, i) => rooms[i % 2]!.turn())
  const last = turns.pop()
  expect(turns.every((turn) => turn === undefined)).toBe(true)
  expect(last).toBeInstanceOf(Promise)
  await last
})

describe('a body that is packed', () => {
  it('can be read where the platform can unpack it', () => {
    expect(['identity', 'gzip', 'x-gzip', 'deflate', 'br'].map(isReadable)).toEqual([true, true, true, true, false])
    vi.stubGlobal('DecompressionStream', undefined)
    expect(['identity', 'gzip', 'x-gzip', 'deflate', 'br'].map(isReadable)).toEqual([true, false, false, false, false])
  })

  it('is unpacked no further once nobody wants more of it', async () => {
    const left = vi.fn()
    const sent = gzipSync('x'.repeat(300_000))
    const stream = new ReadableStream({ start: (controller) => controller.enqueue(sent), cancel: () => left() })
    vi.spyOn(Blob.prototype, 'stream').mockReturnValue(stream)
    const pieces = inflated(sent, 'gzip')
    expect((await pieces.next()).value!.length).toBeGreaterThan(0)
    await pieces.return(undefined)
    await vi.waitFor(() => expect(left).toHaveBeenCalledTimes(1), { interval: 1 })
  })
})
