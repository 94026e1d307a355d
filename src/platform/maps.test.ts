import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { getOrMake, LruMap } from './maps.js'

describe('a map that forgets', () => {
  it('what was not asked for longest, once there are too many', () => {
    const map = new LruMap<string, number>(3)
    for (const [i, name] of ['a', 'b', 'c'].entries()) map.set(name, i)
    expect(map.get('a')).toBe(0)
    map.set('d', 3)
    expect(['a', 'b', 'c', 'd'].map((name) => map.get(name))).toEqual([0, undefined, 2, 3])
  })

  it('nothing for a question about what is not there', () => {
    const map = new LruMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    expect(map.get('none')).toBeUndefined()
    map.delete('none')
    map.set('c', 3)
    expect(['a', 'b', 'c'].map((name) => map.get(name))).toEqual([undefined, 2, 3])
  })

  it('as many as outweigh what comes, and that itself if it weighs too much', () => {
    const map = new LruMap<string, string>(10, (key, value) => key.length + value.length)
    map.set('a', '12')
    map.set('b', '12')
    map.set('c', '12')
    map.set('d', '1234')
    expect(['a', 'b', 'c', 'd'].map((name) => map.get(name))).toEqual([undefined, undefined, '12', '1234'])
    map.set('e', '1234567890')
    expect(['c', 'd', 'e'].map((name) => map.get(name))).toEqual([undefined, undefined, undefined])
    // Its weight went with it.
    map.set('f', '123456789')
    expect(map.get('f')).toBe('123456789')
  })

  it('is what a list would be, whatever is done with it', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const step = fc.record({
      does: fc.constantFrom('get', 'set', 'delete'),
      key,
      weight: fc.integer({ min: 1, max: 4 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const map = new LruMap<string, number>(8, (_, weight) => weight)
        let list: (readonly [string, number])[] = []
        const find = (name: string) => list.find(([each]) => each === name)
        for (const { does, key: name, weight } of steps) {
          const found = find(name)
          const others = list.filter((each) => each !== found)
          if (does === 'get') {
            expect(map.get(name)).toBe(found?.[1])
            list = found ? [...others, found] : list
          } else if (does === 'delete') {
            map.delete(name)
            list = others
          } else {
            map.set(name, weight)
            list = [...others, [name, weight]]
            while (list.reduce((sum, [, each]) => sum + each, 0) > 8) list.shift()
          }
        }
        expect(list.map(([name]) => map.get(name))).toEqual(list.map(([, weight]) => weight))
        for (const name of 'abcde') if (!find(name)) expect(map.get(name)).toBeUndefined()
      }),
    )
  })
})

it('what a key has not yet is made once, whatever it is, and kept', () => {
  const known = new Map<string, number>([['there', 1]])
  let made = 0
  const make = () => made++
  expect(getOrMake(known, 'there', make)).toBe(1)
  expect([getOrMake(known, 'new', make), getOrMake(known, 'new', make)]).toEqual([0, 0])
  expect([[...known], made]).toEqual([
    [
      ['there', 1],
      ['new', 0],
    ],
    1,
  ])
})
