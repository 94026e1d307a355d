import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { V1Error } from '../../contract/errors.js'
import { Bodies, type BodyRoom } from './bodies.js'

/** Rooms by name, the first letter of which is the caller, and who was given up, in order. */
function arriving(limit: number) {
  const bodies = new Bodies(limit)
  const given: string[] = []
  const errors: V1Error[] = []
  const begin = (name: string): BodyRoom =>
    bodies.begin(name[0]!, (error) => {
      given.push(name)
      errors.push(error)
    })
  return { bodies, given, errors, begin }
}

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
    expect(errors[0]!.message).toContain('More than 100 bytes of unfinished requests')
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
