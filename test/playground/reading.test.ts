import { execFileSync } from 'node:child_process'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asCurl, asJavaScript } from '../../apps/playground/page/code.js'
import { asResult } from '../../apps/playground/page/device-bench.js'
import { examples } from '../../apps/playground/page/examples.js'
import { jsonTokens, placeOf } from '../../apps/playground/page/json-tokens.js'
import { readable } from '../../apps/playground/page/readable.js'
import { faultOf, syntaxFault } from '../../apps/playground/page/schema-fault.js'
import { fieldsOf, schemaOf } from '../../apps/playground/page/schema-form.js'
import { schemaFromExample } from '../../apps/playground/page/schema-from-example.js'
import { asShared, packed, unpacked } from '../../apps/playground/page/share.js'
import { compile, type SchemaError, schemaErrorMessage } from '../../src/structured/index.js'
import { type PartialJson, readPartial } from '../../src/structured/partial-json.js'

const objects = fc
  .dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }))
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>)

/** What was read, as `JSON.parse` would give it. */
function plain(read: PartialJson): unknown {
  if (read.kind === 'object') return Object.fromEntries(read.entries.map(([key, value]) => [key, plain(value)]))
  if (read.kind === 'array') return read.items.map(plain)
  return read.kind === 'string' ? read.text : JSON.parse(read.text)
}

const wholeLength = (read: PartialJson | undefined): number =>
  read?.kind === 'object' ? read.entries.filter(([, value]) => value.done).length : 0

describe('JSON that is still being written', () => {
  test('is read like JSON once it is whole', () => {
    fc.assert(
      fc.property(objects, (value) => {
        const read = readPartial(JSON.stringify(value))!
        expect(plain(read)).toEqual(value)
        expect(read.done).toBe(true)
      }),
    )
  })

  test('is read as far as it goes at every character, and never goes back', () => {
    fc.assert(
      fc.property(objects, fc.boolean(), (value, spaced) => {
        const text = JSON.stringify(value, null, spaced ? 2 : 0)
        let before = 0
        for (let end = 0; end <= text.length; end++) {
          const now = wholeLength(readPartial(text.slice(0, end)))
          expect(now).toBeGreaterThanOrEqual(before)
          before = now
        }
        expect(before).toBe(Object.keys(value).length)
      }),
      { numRuns: 50 },
    )
  })

  test.each([
    ['{"a":-1.', { kind: 'number', text: '-1.', done: false }],
    ['{"a":12 ', { kind: 'number', text: '12', done: true }],
    ['{"a":tru', { kind: 'boolean', text: 'tru', done: false }],
    ['{"a":null', { kind: 'null', text: 'null', done: true }],
    ['{"a":"b\\u00', { kind: 'string', text: 'b', done: false }],
    ['{"a":[', { kind: 'array', items: [], done: false }],
  ])('%j: what is begun is shown, and that it has not ended', (text, value) => {
    expect(readPartial(text)).toEqual({ kind: 'object', entries: [['a', value]], done: false })
  })

  test.each(['', ' ', 'x', '{"a":"\\u12', '{"a":tr', '["a",', '{"a":1,,', '"\u0001'])('%j does not fail', (text) => {
    expect(() => readPartial(text)).not.toThrow()
  })
})

describe('the words of a JSON text', () => {
  test('are the text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          objects.map((value) => JSON.stringify(value, null, 2)),
        ),
        (text) => {
          expect(jsonTokens(text).map((token) => token.text)).toEqual(
            jsonTokens(text).map(({ at, text: word }) => text.slice(at, at + word.length)),
          )
          expect(
            jsonTokens(text)
              .map((token) => token.text)
              .join(''),
          ).toBe(text)
        },
      ),
    )
  })

  test('are found by their path', () => {
    fc.assert(
      fc.property(objects, (value) => {
        const text = readable(value)
        const visit = (inner: unknown, path: string[]) => {
          const at = placeOf(text, path)!
          const word = jsonTokens(text.slice(at))[0]!.text
          if (typeof inner !== 'object' || inner === null) return expect(JSON.parse(word)).toEqual(inner)
          expect(word).toBe(Array.isArray(inner) ? '[' : '{')
          for (const [key, child] of Object.entries(inner)) visit(child, [...path, key])
        }
        visit(value, [])
      }),
    )
  })

  test('are written so that people can read them, and mean the same', () => {
    fc.assert(fc.property(objects, (value) => void expect(JSON.parse(readable(value))).toEqual(value)))
  })
})

describe('a refused schema', () => {
  const refusalOf = (schema: unknown): string => {
    try {
      compile(schema)
    } catch (error) {
      return schemaErrorMessage(error as SchemaError, 'it')
    }
    throw new Error('It was not refused.')
  }

  test.each([
    ['uniqueItems', { type: 'array', items: { type: 'object' }, uniqueItems: true }],
    ['type', { type: 'strng' }],
    ['pattern', { type: 'string', pattern: '(' }],
    ['minLenght', { type: 'string', minLenght: 3 }],
  ])('is marked at the line of %s', (keyword, wrong) => {
    const properties = {
      fine: { type: 'string' },
      deep: { type: 'object', properties: { wrong }, required: ['wrong'] },
    }
    const schema = JSON.stringify({ type: 'object', properties, required: ['fine', 'deep'] }, null, 2)
    const { line, message } = faultOf(schema, refusalOf(JSON.parse(schema)))
    expect(message).not.toContain('In context')
    expect(schema.split('\n')[line! - 1]).toContain(`"${keyword}"`)
    // The right one, where it stands more than once.
    expect(line).toBeGreaterThan(schema.split('\n').findIndex((each) => each.includes('"wrong"')))
  })

  test('that is no JSON is marked too', () => {
    expect(syntaxFault('{}')).toBeUndefined()
    expect(syntaxFault('{\n  "a": 1,\n  "b" 2\n}')).toMatchObject({ line: 3 })
    expect(syntaxFault('{\n  "a": 1')?.message).toMatch(/not JSON/)
  })
})

describe('the examples', () => {
  test.each(examples.map((example) => [example.name, example] as const))(
    '%s can be enforced',
    (_, { schema, text }) => {
      const grammar = compile(schema)
      expect(grammar.notEnforced).toEqual([])
      expect(text).not.toBe('')
    },
  )
})

describe('the request as code', () => {
  const body = {
    model: 'local-v1/nano',
    messages: [{ role: 'user' as const, content: `It's "5 o'clock" in \\Bern\n` }],
    response_format: {
      type: 'json_schema' as const,
      json_schema: { name: 'it', strict: true as const, schema: examples[0]!.schema },
    },
  }

  test('for the shell says exactly what the page would send', () => {
    const script = `curl() { printf '%s\\0' "$@"; }\n${asCurl(body, "team/it's")}`
    const words = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0')
    expect(JSON.parse(words[words.indexOf('-d') + 1]!)).toEqual(body)
    expect(words).toContain("openai-project: team/it's")
  })

  test('for the official client does too', async () => {
    const sent: unknown[] = []
    const made: unknown[] = []
    class OpenAI {
      chat = {
        completions: {
          create: async (request: unknown) => {
            sent.push(request)
            return { choices: [{ message: { content: '{}' } }] }
          },
        },
      }
      constructor(options: unknown) {
        made.push(options)
      }
    }
    const code = asJavaScript(body, 'team/project', 'https://app.example').replace(/^import .*$/m, '')
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
      ...words: string[]
    ) => (...given: unknown[]) => Promise<void>
    await new AsyncFunction('OpenAI', 'console', code)(OpenAI, { log() {} })
    expect(sent).toEqual([body])
    expect(made).toMatchObject([{ baseURL: 'https://app.example/v1', project: 'team/project' }])
  })
})

describe('a schema from an example', () => {
  // Else it takes what every object inherits, `valueOf` say, for a property that is there.
  const judge = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true })

  test('accepts the example, whatever it is', () => {
    fc.assert(
      fc.property(objects, (document) => {
        // Ajv passes over properties of this name, and cannot judge them.
        fc.pre(!JSON.stringify(document).includes('"__proto__"'))
        const schema = schemaFromExample(document)
        // Of two items that have the same keys in another order, the grammar writes one order.
        expect(judge.validate(schema, document)).toBe(true)
        expect(() => compile(schema)).not.toThrow()
      }),
      {
        numRuns: 60,
        examples: [[{ a: [[], [[], '']] }], [{ a: ['', [], {}, [{}], 1.5, 2] }], [{ a: [{ valueOf: 1 }, { b: 1 }] }]],
      },
    )
  })

  test('is closed, and asks for every field that all items have', () => {
    const schema = schemaFromExample({
      items: [
        { name: 'a', size: 1 },
        { name: 'b', size: 1.5, note: null },
      ],
    })
    const grammar = compile(schema)
    expect(grammar.accepts('{"items":[{"name":"c","size":2.5}]}')).toBe(true)
    expect(grammar.accepts('{"items":[{"name":"c"}]}')).toBe(false)
    expect(grammar.accepts('{"items":[],"more":1}')).toBe(false)
  })
})

describe('a schema by a form', () => {
  test('comes back as the same form', () => {
    const fields = [
      { name: 'title', kind: 'text', options: '' },
      { name: 'size', kind: 'choice', options: 'small, large' },
      { name: 'tags', kind: 'texts', options: '' },
    ] as const
    expect(fieldsOf(schemaOf(fields))).toEqual(fields)
  })

  test('is no form where the schema says more', () => {
    for (const { schema } of examples.filter(({ name }) => ['Meeting', 'Order', 'Invoice'].includes(name))) {
      expect(fieldsOf(schema)).toBeUndefined()
    }
  })
})

describe('what a link holds', () => {
  const draft = { name: 'a', instructions: 'ä 🌍', text: 'x'.repeat(5000), schema: '{}' }

  test('comes out as it went in, in a few characters that every address may have', async () => {
    const text = await packed({ draft, settings: { seed: '1' } })
    expect(text).toMatch(/^[\w-]+$/)
    expect(text.length).toBeLessThan(300)
    expect(asShared(await unpacked(text))).toEqual({ draft, settings: { seed: '1' } })
  })

  test('is refused where it is not what it should be', async () => {
    for (const value of [null, 7, {}, { draft: { ...draft, text: 7 } }]) expect(asShared(value)).toBeUndefined()
    expect(asShared({ draft, settings: { seed: 7, key: 'secret' } })?.settings).toEqual({})
    expect(asResult({ model: 'a', device: 'b', date: 'c', firstMs: '1' })).toBeUndefined()
    await expect(unpacked(await packed('x'.repeat(300_000)))).rejects.toThrow('too much')
    await expect(unpacked('%%%')).rejects.toThrow()
  })
})
