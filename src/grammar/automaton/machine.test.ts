import { describe, expect, it } from 'vitest'
import { atOnce } from '../../platform/turns.js'
import { Fuel } from '../fuel.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Values } from '../schema/values.js'
import { COMPACT } from '../values/format.js'
import { advance, startPlace } from '../walk.js'
import type { StringPlace } from './characters.js'
import { FrameTable } from './frame-table.js'
import { Machine, MOST_STATES } from './machine.js'
import { ObjectFrames } from './object-home.js'

function rootOf(schema: unknown) {
  return atOnce(new Values(new Context(new Document(schema), new Fuel(), COMPACT, undefined)).root())
}

describe('threads', () => {
  const node = (kind: string) => ({
    type: 'object',
    properties: { child: { $ref: '#' }, kind: { const: kind } },
    required: ['child', 'kind'],
  })
  const machine = new Machine(
    new FrameTable(COMPACT).value(rootOf({ anyOf: [...['a', 'b', 'c'].map(node), { type: 'null' }] })),
  )
  const read = (text: string) => {
    let place = startPlace(machine)
    for (const byte of new TextEncoder().encode(text)) place = advance(machine, place, byte)
    return place.state
  }

  it('of alternatives told apart at the end do not multiply with the depth', () => {
    const open = (depth: number) => '{"child":'.repeat(depth)
    expect(read(open(40)).cells.length).toBe(read(open(1)).cells.length)
    expect(read(`${open(40)}null${',"kind":"b"}'.repeat(40)}`).accepting).toBe(true)
    expect(read(`${open(40)}null${',"kind":"b"}'.repeat(39)}`).accepting).toBe(false)
    expect(read(`${open(40)}null,"kind":"d"}`).dead).toBe(true)
  })

  it('remember each what stands around them', () => {
    expect(read('{"child":{"child":null,"kind":"a"},"kind":"c"}').accepting).toBe(true)
    expect(read('{"child":{"child":null,"other":1,"kind":"a"').dead).toBe(true)
  })
})

describe('the states of used keys', () => {
  it('are shared while they are in use, and dropped in the end', () => {
    const value = rootOf({ type: 'object', additionalProperties: { type: 'number' } })
    const { start } = new ObjectFrames(value.objects[0]!, new FrameTable(COMPACT))
    const after = start.afterExtra(0)
    const first = after.resolve('first')
    expect(after.resolve('first')).toBe(first)
    for (let i = 0; i < 5000; i++) after.resolve(`key ${i}`)
    expect(after.resolve('key 4999')).toBe(after.resolve('key 4999'))
    expect(after.resolve('first')).not.toBe(first)
  })
})

describe('the states of a machine', () => {
  it('are dropped in the end, also those of documents that bring new keys', () => {
    const machine = new Machine(
      new FrameTable(COMPACT).value(rootOf({ type: 'object', additionalProperties: { type: 'number' } })),
    )
    let most = 0
    let read = 0
    for (let i = 0; i < 400; i++) {
      let place = startPlace(machine)
      const text = JSON.stringify(Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`key ${10 * i + k}`, k])))
      for (const byte of new TextEncoder().encode(text)) place = advance(machine, place, byte)
      expect(place.state.accepting).toBe(true)
      most = Math.max(most, machine.kept)
      read += text.length
    }
    expect(read).toBeGreaterThan(1.5 * MOST_STATES)
    expect(most).toBeLessThanOrEqual(MOST_STATES + 1)
  })
})

describe('the way out of a string', () => {
  const at = (schema: unknown, text: string) => {
    const machine = new Machine(new FrameTable(COMPACT).value(rootOf(schema)))
    let place = startPlace(machine)
    for (const byte of new TextEncoder().encode(text)) place = advance(machine, place, byte)
    return place.state.cells[0]!.frame as StringPlace
  }

  // Without a bound each mask under a budget would walk the whole vocabulary.
  it('is bounded without a look at the vocabulary where keys go by a pattern', () => {
    const keys = { type: 'object', patternProperties: { '^.*$': { type: 'number' } }, additionalProperties: false }
    for (const text of ['{"', '{"ab', '{"a":1,"', '{"a":1,"a']) expect(at(keys, text).base.longest).toBeLessThan(100)
  })

  it('only grows shorter with the characters that must still come', () => {
    const letters = { type: 'string', pattern: '^[a-z ]+$', minLength: 100 }
    expect(at(letters, '"ab').class.end).toBe('shorter')
  })
})
