import { execFileSync, spawnSync } from 'node:child_process'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type LocalDecisions, localV1 } from '../../adapters/ai-sdk.js'
import type { Deciding } from '../../adapters/client/decision-model.js'
import { ApiError, isBroken } from '../../apps/playground/page/api.js'
import { chatCode } from '../../apps/playground/page/code.js'
import { decisionCode } from '../../apps/playground/page/decision-code.js'
import { asDecisionDraft, type DecisionBody, optionOf, questionOf } from '../../apps/playground/page/decision-draft.js'
import { decisionExamples } from '../../apps/playground/page/decision-examples.js'
import { asResult } from '../../apps/playground/page/device-bench.js'
import { framed } from '../../apps/playground/page/dom.js'
import { examples } from '../../apps/playground/page/examples.js'
import { likelihood, whole } from '../../apps/playground/page/format.js'
import { jsonFault } from '../../apps/playground/page/json-syntax.js'
import { jsonTokens, placeOf } from '../../apps/playground/page/json-tokens.js'
import { readable } from '../../apps/playground/page/readable.js'
import { faultOf, syntaxFault } from '../../apps/playground/page/schema-fault.js'
import { fieldsOf, schemaOf } from '../../apps/playground/page/schema-fields.js'
import { schemaFromExample } from '../../apps/playground/page/schema-from-example.js'
import { asShared, asSharedDecisions, packed, unpacked } from '../../apps/playground/page/share.js'
import { tableCode } from '../../apps/playground/page/table/code.js'
import { wordsOf } from '../../apps/playground/worker/words.js'
import { packages } from '../../scripts/install-lines.js'
import type { DecideCall } from '../../src/contract/engine.js'
import { scripted } from '../../src/engines/scripted.js'
import { type PartialJson, readPartial } from '../../src/grammar/partial-json.js'
import { compile, type SchemaError, schemaErrorMessage } from '../../src/grammar/structured.js'
import { createV1 } from '../../src/index.js'
import { damaged } from '../../src/models/files/failure.js'
import { heard } from '../../src/service/v1.test-helper.js'

const JSON_TYPE = { 'content-type': 'application/json' }
type Told = { state: string; questions: Deciding['questions'] }

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

const hasPython = spawnSync('python3', ['--version']).status === 0

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

describe('an answer that is drawn while it comes', () => {
  /** A piece comes each millisecond, and to draw all so far takes as many as there are. */
  function drawing(pieces: number, hidden: boolean) {
    vi.useFakeTimers()
    vi.stubGlobal('document', { hidden })
    vi.stubGlobal('requestAnimationFrame', (frame: () => void) => setTimeout(frame, 16))
    let [come, drawn, took] = [0, 0, 0]
    const drawSoon = framed(
      () => {
        drawn = come
        took += come
      },
      () => performance.now() + took,
    )
    while (come < pieces) {
      come++
      drawSoon()
      vi.advanceTimersByTime(1)
    }
    const whileItCame = took
    vi.runAllTimers()
    vi.useRealTimers()
    vi.unstubAllGlobals()
    return { drawn, whileItCame }
  }

  test.each([false, true])(
    'takes no more time than it takes to come, and is whole in the end (hidden: %s)',
    (hidden) => {
      for (const pieces of [1000, 10_000]) {
        const { drawn, whileItCame } = drawing(pieces, hidden)
        expect(whileItCame).toBeLessThanOrEqual(2 * pieces)
        expect(drawn).toBe(pieces)
      }
    },
  )
})

test('what breaks off is asked for again, and not what ended one worker after the other', () => {
  const lost = (status: number) => new ApiError(status, { message: 'It is gone.', code: 'host_lost', param: null })
  // In the midst of a stream, and in its place.
  expect([isBroken(lost(200)), isBroken(lost(503))]).toEqual([true, false])
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

  test.each([
    ['', 1, 'it is empty'],
    ['{\n  "a": 1', 1, 'it ends before this { is closed'],
    ['{ "a": [1, 2 }', 1, '} closes what was opened with ['],
    ['{\n  "a": 1,\n  "b" 2\n}', 3, 'a colon is missing before 2'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 'a comma is missing before "b"'],
    ['{ "a": 1,\n}', 2, 'there is a comma before the end'],
    ['[1,\n]', 2, 'there is a comma before the end'],
    ['[,1]', 1, 'a value is missing before ,'],
    ['{ "a": }', 1, 'a value is missing before }'],
    ['{ a: 1 }', 1, '"a" does not belong here'],
    ["{ 'a': 1 }", 1, 'texts need double quotes'],
    ['{ 1: 1 }', 1, 'a name in double quotes is missing before 1'],
    ['{ "a": 01 }', 1, '01 is not a number'],
    ['["a\\q"]', 1, 'a backslash or an invisible character'],
    ['["a\n"]', 1, 'this text has no closing quote'],
    ['{}\n{}', 2, 'something follows after its end: {'],
    [']', 1, 'it cannot begin with ]'],
  ])('says in words of its own why %j is no JSON', (text, line, words) => {
    const fault = syntaxFault(text)
    expect(fault?.message).toContain(words)
    expect(fault?.line).toBe(line)
  })

  test('finds a reason and a line for whatever is no JSON, and for nothing else', () => {
    const nearly = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', '{', '}', '[', ']', ',', ':', '"', '\\', '1', ' ', '\n', 'x'))
      .map(([text, at, inserted]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + inserted + text.slice(place + (at % 3))
      })
    fc.assert(
      fc.property(nearly, (text) => {
        const isJson = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        expect(jsonFault(text) === undefined).toBe(isJson)
        const { line } = syntaxFault(text) ?? { line: 1 }
        expect(line).toBeLessThanOrEqual(text.split('\n').length)
      }),
      { numRuns: 3000 },
    )
  })

  test('is told with no advice that the page has no way to follow', () => {
    // As `/v1` says it to those who can ask otherwise.
    const refusal =
      "Invalid schema for response_format 'it': In context=('properties', 'a'), 'divisibleBy' is not supported. Leave it out, or set 'strict' to false: what cannot be enforced is then left to the model."
    const { message } = faultOf('{ "properties": { "a": { "divisibleBy": 5 } } }', refusal)
    expect(message).toBe("'divisibleBy' is not supported. Leave it out.")
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

  const decision: DecisionBody = {
    model: 'local-v1/nano',
    input: `It's "5 o'clock" in \\Bern\n`,
    order: 'average',
    questions: [
      { type: 'predicate', instructions: `It's late.` },
      {
        type: 'choice',
        instructions: 'What is it?',
        choices: [{ value: 'a bill', description: 'asks for money' }, { value: 'a letter' }],
      },
      {
        type: 'score',
        instructions: 'Wie spät?',
        levels: [{ label: 'früh', description: 'vor 6' }, { label: 'spät' }],
      },
    ],
  }
  const here = { project: "team/it's", origin: 'https://app.example', served: false }
  const codeOf = (samples: readonly { name: string; code: string }[], name: string) =>
    samples.find((sample) => sample.name === name)!.code

  test.each([
    ['a chat', chatCode(body, here), body],
    ['decisions', decisionCode(decision, here), decision],
  ])('of %s for the shell says exactly what the page would send', (_, samples, sent) => {
    const script = `curl() { printf '%s\\0' "$@"; }\n${codeOf(samples, 'curl')}`
    const words = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0')
    expect(JSON.parse(words[words.indexOf('-d') + 1]!)).toEqual(sent)
    expect(words).toContain("openai-project: team/it's")
  })

  test.skipIf(!hasPython)('of a chat for Python does too (needs python3)', () => {
    const request = { ...body, evidence: true, top_p: 0.5 } as const
    const stand_in = [
      'import json, sys, types',
      'class OpenAI:',
      '    def __init__(self, **given):',
      '        self.given = given',
      '        self.chat = types.SimpleNamespace(completions=self)',
      '    def create(self, **body):',
      '        print(json.dumps([self.given, body]))',
      '        message = types.SimpleNamespace(content="")',
      '        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])',
      'sys.modules["openai"] = types.SimpleNamespace(OpenAI=OpenAI)',
    ]
    const code = codeOf(chatCode(request, here), 'Python')
    const [line] = execFileSync('python3', ['-c', `${stand_in.join('\n')}\n${code}`], { encoding: 'utf8' }).split('\n')
    const [made, { extra_body, ...sent }] = JSON.parse(line!) as [object, { extra_body: object }]
    expect({ ...sent, ...extra_body }).toEqual(request)
    expect(made).toMatchObject({ project: "team/it's", api_key: 'none' })
  })

  test('names no package that nobody of ours has on npm', () => {
    if (packages().note === '') return
    const table = {
      wanted: { sentence: 'x', fields: [] },
      model: 'local-v1/nano',
      evidence: true,
      limit: {},
      text: 'y',
    }
    for (const { name, code } of [
      ...chatCode(body, here),
      ...decisionCode(decision, here),
      ...tableCode(table, here),
    ]) {
      expect(code, name).not.toMatch(/npx local-v1|(npm install|bun add) [^\n]*local-v1/)
    }
  })

  /** Runs it with what it imports. */
  async function run(code: string, given: Readonly<Record<string, unknown>>): Promise<void> {
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
      ...words: string[]
    ) => (...given: unknown[]) => Promise<void>
    const names = Object.keys(given)
    await new AsyncFunction(...names, 'console', code.replace(/^import .*$/gm, ''))(...Object.values(given), {
      log() {},
    })
  }

  test.each([
    ['a chat', codeOf(chatCode(body, here), 'JavaScript'), body],
    ['decisions', codeOf(decisionCode(decision, here), 'OpenAI'), decision],
  ])('of %s for the official client does too', async (_, code, expected) => {
    const sent: unknown[] = []
    const made: unknown[] = []
    const create = async (request: unknown) => {
      sent.push(request)
      return { choices: [{ message: { content: '{}' } }] }
    }
    class OpenAI {
      chat = { completions: { create } }
      decisions = { create }
      constructor(options: unknown) {
        made.push(options)
      }
    }
    await run(code, { OpenAI })
    expect(sent).toEqual([expected])
    expect(made).toMatchObject([{ baseURL: 'https://app.example/v1', project: "team/it's" }])
  })

  test('of decisions for the AI SDK asks the same of our provider', async () => {
    const requests: Deciding[] = []
    const { order, ...plain } = decision
    const deciding = scripted({
      models: { 'local-v1/nano': '' },
      capabilities: { decisions: true },
      decide: ({ options }) => options.map((_, i) => i + 1),
    })
    const { calls, engine } = heard(deciding)
    const v1 = createV1({ engine, keys: 'none', log: () => {} })
    // What the SDK hands over to a provider: the state as parts, the questions as they are.
    const experimental_decide = async ({ model, state, questions }: { model: LocalDecisions } & Told) => {
      requests.push({ state: [{ type: 'text', text: state }], questions })
      return model.doDecide(requests[0]!)
    }
    await run(codeOf(decisionCode(decision, here), 'AI SDK'), { experimental_decide, localV1: () => localV1(v1) })
    await v1.fetch(
      new Request('http://localhost/v1/decisions', { method: 'POST', body: JSON.stringify(plain), headers: JSON_TYPE }),
    )
    const [bySdk, byHand] = calls
    const comparable = ({ state, questions }: DecideCall) => ({
      state,
      questions: questions.map(({ type, instructions, options }) => ({
        type,
        instructions,
        // The SDK's levels have no names: they are numbered, and described by their text.
        options: options.map(({ text, description = '' }, i) => {
          if (type !== 'score') return { text, description }
          return { text: text === String(i) ? description : description === '' ? text : `${text}: ${description}` }
        }),
      })),
    })
    expect(comparable(bySdk!)).toEqual(comparable(byHand!))
    expect(Object.keys(requests[0]!.questions)).toEqual(['it_s_late', 'what_is_it', 'wie_sp_t'])
    await v1.close()
  })
})

describe('questions as they are written', () => {
  test('an option may say after a colon what it means', () => {
    expect(optionOf(' tech: the app: it fails ')).toEqual({ name: 'tech', description: 'the app: it fails' })
    for (const text of ['3:30', 'tech:', ': what', 'plain']) expect(optionOf(text)).toEqual({ name: text })
  })

  test('what cannot be asked yet says what is missing', () => {
    const question = (options: string[], text = 'What?') => questionOf({ kind: 'choice', text, options })
    expect(question(['a', ''])).toMatch(/two options/)
    expect(question(['a', 'b', 'a: again'])).toMatch(/“a”.*twice/)
    expect(question(['a', 'b'], ' ')).toMatch(/Write/)
    expect(questionOf({ kind: 'predicate', text: '', options: [] })).toMatch(/statement/)
    expect(question(['a', '', 'b: what'])).toEqual({
      type: 'choice',
      instructions: 'What?',
      choices: [{ value: 'a' }, { value: 'b', description: 'what' }],
    })
  })

  test.each(decisionExamples.map((example) => [example.name, example] as const))(
    'the example %s can be asked, and survives a link',
    async (_, draft) => {
      for (const question of draft.questions) expect(questionOf(question)).toBeTypeOf('object')
      const link = await packed({ draft, settings: { model: 'm', temperature: '7' } })
      expect(asSharedDecisions(await unpacked(link))).toEqual({ draft, settings: { model: 'm' } })
    },
  )

  test('of a link only what is questions is taken', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void asSharedDecisions(value)))
    const whole = { name: '', text: '', questions: [{ kind: 'choice', text: '', options: ['a'] }], average: true }
    expect(asDecisionDraft(whole)).toEqual(whole)
    const [question] = whole.questions
    for (const wrong of [{ kind: 'box' }, { text: 1 }, { options: [1] }, { options: Array(256).fill('') }])
      expect(asDecisionDraft({ ...whole, questions: [{ ...question, ...wrong }] })).toBeUndefined()
    expect(asDecisionDraft({ ...whole, questions: [] })).toBeUndefined()
  })

  test('no share is called certain or impossible that is not', () => {
    expect([0, 1e-9, 0.001, 0.0123, 0.5, 0.876, 0.9871, 0.9999, 1].map(likelihood)).toEqual([
      '0 %',
      '<0.1 %',
      '0.1 %',
      '1.2 %',
      '50 %',
      '88 %',
      '98.7 %',
      '>99.9 %',
      '100 %',
    ])
  })
})

describe('what failed', () => {
  const unreachable = (what: string) =>
    Object.assign(new Error(`The model at https://hub.example/a/b/ cannot be fetched now: ${what}`), {
      code: 'model_unreachable',
    })

  test('is said without the address of a hub where it did not come over the network', () => {
    vi.stubGlobal('navigator', { onLine: true })
    for (const what of ['the network failed.', 'model.json: the network failed (getaddrinfo ENOTFOUND hub.example).']) {
      expect(wordsOf(unreachable(what))).toMatch(/no network, .*on disk already work/)
      expect(wordsOf(unreachable(what))).not.toContain('hub.example')
    }
    expect(wordsOf(unreachable('the server answered 502.'))).toBe(
      'The model cannot be downloaded now: the server answered 502.',
    )
    vi.stubGlobal('navigator', { onLine: false })
    expect(wordsOf(unreachable('the network failed.'))).toMatch(/^This device is offline/)
    vi.unstubAllGlobals()
  })

  test('names no address where the files of a model are at fault, and says what to do', () => {
    const error = damaged('http://localhost:5173/models/x/', 'x.bin is incomplete: it has 6 of at least 7 bytes.')
    expect(wordsOf(error)).toBe(
      'This model cannot be loaded: x.bin is incomplete: it has 6 of at least 7 bytes. Its files are damaged or not whole: download it again.',
    )
    const file = damaged('notes.gguf', 'notes.gguf is incomplete: it ends at byte 3, in its header.')
    expect(wordsOf(file)).toBe(file.message)
  })

  test('is otherwise said as it was, and never in a browser’s own words', () => {
    expect(wordsOf(new Error('Write it as owner/name.'))).toBe('Write it as owner/name.')
    expect(wordsOf(new TypeError('x is not a function'))).not.toContain('function')
  })
})

test('a whole number is written as English has it', () => {
  fc.assert(fc.property(fc.integer(), (count) => void expect(whole(count)).toBe(count.toLocaleString('en'))))
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

  test('has groups where a document has them, and what may be missing', () => {
    const invoice = {
      number: 'A-1',
      seller: { name: 'Ada', address: { street: 'Hill 3', zip: 8001 } },
      lines: [
        { article: 'pen', prices: [1.5, 2], dates: ['2026-01-02'] },
        { article: 'ink', prices: [3.5], dates: ['2026-03-04'], urgent: true },
      ],
    }
    const schema = schemaFromExample(invoice)
    const fields = fieldsOf(schema)
    expect(fields?.map(({ kind }) => kind)).toEqual(['text', 'group', 'groups'])
    expect(fields?.[2]?.fields?.map(({ name, kind, optional }) => [name, kind, optional])).toEqual([
      ['article', 'text', undefined],
      ['prices', 'numbers', undefined],
      ['dates', 'dates', undefined],
      ['urgent', 'boolean', true],
    ])
    const grammar = compile(schemaOf(fields!))
    expect(grammar.accepts(JSON.stringify(invoice))).toBe(true)
    expect(grammar.accepts(JSON.stringify({ ...invoice, seller: { name: 'Ada' } }))).toBe(false)
  })

  test('says what an example says, wherever it can say it at all', () => {
    const { document } = fc.letrec((tie) => ({
      document: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('value'), { maxKeys: 4 }),
      value: fc.oneof(
        { maxDepth: 2 },
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.double({ min: 0.1, max: 0.9 })),
        fc.array(fc.string(), { maxLength: 3 }),
        tie('document'),
        fc.array(tie('document'), { minLength: 1, maxLength: 1 }),
      ),
    }))
    fc.assert(
      fc.property(document, (example) => {
        const schema = schemaFromExample(example)
        const fields = fieldsOf(schema)
        expect(fields).toBeDefined()
        expect(schemaOf(fields!)).toEqual(schema)
      }),
      { numRuns: 60 },
    )
  })

  test('is no form where the schema says more', () => {
    for (const more of [
      { type: 'integer', minimum: 1 },
      { type: ['string', 'null'] },
      { anyOf: [{ type: 'string' }, { type: 'object', properties: {}, required: [], additionalProperties: false }] },
      { type: 'array', items: { type: 'boolean' } },
      { type: 'array', items: { type: 'string' }, maxItems: 2 },
      { enum: ['a, b'] },
      { type: 'object', properties: { a: { type: 'null' } }, required: ['a'], additionalProperties: false },
    ]) {
      const schema = { type: 'object', properties: { more }, required: ['more'], additionalProperties: false }
      expect(fieldsOf(schema), JSON.stringify(more)).toBeUndefined()
    }
  })
})

describe('what a link holds', () => {
  const draft = { name: 'a', instructions: 'ä 🌍', text: 'x'.repeat(5000), schema: '{}' }

  test('comes out as it went in, in a few characters that every address may have', async () => {
    const text = await packed({ draft, settings: { seed: '1' } })
    expect(text).toMatch(/^[\w-]+\.[\da-f]{8}$/)
    expect(text.length).toBeLessThan(300)
    expect(asShared(await unpacked(text))).toEqual({ draft, settings: { seed: '1' } })
  })

  test('is refused where it is not what it should be', async () => {
    for (const value of [null, 7, {}, { draft: { ...draft, text: 7 } }]) expect(asShared(value)).toBeUndefined()
    expect(asShared({ draft, settings: { seed: 7, key: 'secret' } })?.settings).toEqual({})
    expect(asResult({ model: 'a', device: 'b', date: 'c', firstMs: '1' })).toBeUndefined()
    await expect(unpacked(await packed('x'.repeat(300_000)))).rejects.toThrow('too large')
    await expect(unpacked('%%%')).rejects.toThrow()
  })
})
