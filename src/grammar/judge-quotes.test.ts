import { describe, expect, it } from 'vitest'
import { judge } from './judge.js'

describe('a value', () => {
  it('by a format of the caller is judged by what that says', () => {
    const formats = { plate: '^[A-Z]{2}\\d+$' }
    const schema = { type: 'string', format: 'plate' }
    expect([judge(schema, 'ZH1', formats), judge(schema, 'zh1', formats)]).toEqual([true, false])
  })

  it('by a schema that is none is not judged, and what breaks otherwise is not hidden', () => {
    expect(judge({ type: 'nothing' }, 1)).toBeUndefined()
    const broken = {
      get type(): string {
        throw new TypeError('broken')
      },
    }
    expect(() => judge(broken, 1)).toThrow('broken')
  })

  it('that is deeper than can be followed, or too costly, is neither right nor wrong', () => {
    const schema = { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
    let deep: unknown[] = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect([judge(schema, [[[]]]), judge(schema, 5), judge(schema, deep)]).toEqual([true, false, undefined])
  })
})

describe('strings that must all be quotes', () => {
  const schema = {
    type: 'object',
    description: 'of what stands nowhere',
    properties: {
      a: { type: 'string' },
      all: { type: 'array', items: { $ref: '#/$defs/some' } },
      kind: { enum: ['up', 'down', { to: 'nowhere' }] },
      fixed: { const: ['left', 5] },
    },
    $defs: { some: { type: ['string', 'object', 'null'] } },
    // They say nothing, and what else there is says no less.
    default: null,
    title: undefined,
  }
  const quoteOptions = { texts: ['the red fox', 'a blue sky'], all: true }
  const judged = (value: unknown, quote: typeof quoteOptions | undefined = quoteOptions) =>
    judge(schema, value, undefined, quote)

  it.each<[unknown, boolean]>([
    [{}, true],
    [{ a: 'red fox' }, true],
    [{ a: 'green fox' }, false],
    [{ a: 'red', all: ['blue sky', 'the', null] }, true],
    [{ all: ['blue sky', 'green'] }, false],
    [{ all: [{ deep: { within: ['blue'] } }] }, true],
    [{ all: [{ deep: { within: ['green'] } }] }, false],
    // Their names are their own.
    [{ green: 1, all: [{ green: 'red' }] }, true],
    // What the schema spells out may be said wherever a string may.
    [{ kind: 'up', fixed: ['left', 5] }, true],
    [{ kind: { to: 'nowhere' } }, true],
    [{ a: 'left', all: ['down', 'nowhere'] }, true],
    // Other words of it are not spelled out.
    [{ a: 'of what stands nowhere' }, false],
    [{ a: 'string' }, false],
    [{ a: 'Stryker was here' }, false],
    [{ a: 5 }, false],
  ])('are: %j is %s', (value, right) => expect(judged(value)).toBe(right))

  it('need not be where only some must, or none', () => {
    expect(judged({ a: 'green' }, { ...quoteOptions, all: false })).toBe(true)
    expect(judge(schema, { a: 'green' })).toBe(true)
    const own = { ...schema, properties: { a: { type: 'string', 'x-quote': true } } }
    expect(judge(own, { a: 'green' }, undefined, { texts: quoteOptions.texts })).toBe(false)
    expect(judge(own, { a: 'red', b: 'green' }, undefined, { texts: quoteOptions.texts })).toBe(true)
  })
})
