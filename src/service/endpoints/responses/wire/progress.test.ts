import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Part } from '../../../../contract/engine.js'
import { V1Error } from '../../../../contract/errors.js'
import { atOnce } from '../../../../platform/turns.js'
import { judges, judgesAreHere } from './judges.test-helper.js'
import { type ResponseEvent, ResponseProgress } from './progress.js'
import { readResponseRequest } from './request.js'
import type { FunctionCallItem, MessageItem, ResponseResource } from './resource.js'

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined })
const aWord = fc.string({ unit: 'grapheme', maxLength: 6 })

const someTools = fc.constantFrom<object>(
  {},
  { tools: [] },
  { tools: [look] },
  { tools: [{ ...look, description: 'Looks.', strict: true }, { type: 'web_search' }], tool_choice: 'required' },
  { tools: [{ type: 'namespace', name: 'crm', description: 'Sales.', tools: [look] }] },
  { tools: [{ type: 'shell' }, { type: 'apply_patch' }, look], tool_choice: { type: 'shell' } },
  { tools: [{ type: 'local_shell' }, { type: 'shell', environment: { type: 'local' } }] },
  { tools: [{ type: 'custom', name: 'patch' }, look] },
  {
    tools: [
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'custom', name: 'say', description: 'Says it.', format: { type: 'text' } },
    ],
    tool_choice: { type: 'custom', name: 'patch' },
  },
  { tools: [{ type: 'function', name: 'look' }], tool_choice: { type: 'function', name: 'look' } },
  {
    tools: [look],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
    parallel_tool_calls: false,
  },
)
const aFormat = fc.constantFrom<object>(
  { type: 'text' },
  { type: 'json_object' },
  { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object' } },
  { type: 'json_schema', name: 'x', description: 'An x.', schema: { type: 'array', items: {} } },
)

/** Every field that a response repeats, or that its events depend on. */
const aRequest: fc.Arbitrary<object> = fc
  .tuple(
    someTools,
    fc.record({
      input: fc.constantFrom<unknown>('Hi', [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }]),
      instructions: maybe(aWord),
      temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
      top_p: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
      presence_penalty: maybe(fc.integer({ min: -2, max: 2 })),
      frequency_penalty: maybe(fc.integer({ min: -2, max: 2 })),
      top_logprobs: maybe(fc.nat(20)),
      max_output_tokens: maybe(fc.integer({ min: 16, max: 2 ** 31 })),
      max_tool_calls: maybe(fc.integer({ min: 1, max: 9 })),
      metadata: maybe(fc.dictionary(fc.string({ maxLength: 4 }), aWord, { maxKeys: 3 })),
      text: maybe(fc.record({ format: aFormat, verbosity: maybe(fc.constant('medium')) })),
      reasoning: maybe(
        fc.record({
          effort: maybe(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
          summary: maybe(fc.constantFrom('auto', 'concise', 'detailed')),
        }),
      ),
      truncation: maybe(fc.constantFrom('auto', 'disabled')),
      include: maybe(fc.subarray(['reasoning.encrypted_content', 'message.output_text.logprobs'])),
      user: maybe(aWord),
      prompt_cache_key: maybe(fc.string({ minLength: 1, maxLength: 9 })),
      safety_identifier: maybe(fc.string({ minLength: 1, maxLength: 9 })),
      store: maybe(fc.constant(false)),
      service_tier: maybe(fc.constantFrom('auto', 'flex')),
    }),
  )
  .map(([tools, fields]) => JSON.parse(JSON.stringify({ ...fields, ...tools })) as object)

const aText = fc.string({ unit: 'grapheme', maxLength: 6 })
const aLogprob = fc.record({
  token: aText,
  bytes: fc.option(fc.array(fc.nat(255), { maxLength: 3 })),
  logprob: fc.oneof(fc.double({ max: 0, noNaN: true }), fc.constant(Number.NEGATIVE_INFINITY)),
  top: fc.constant([]),
})
type Step = Exclude<Part, { type: 'finish' }> | { readonly type: 'thought'; readonly text: string }
const aStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    type: fc.constant('text-delta' as const),
    choice: fc.constant(0),
    text: aText,
    logprobs: fc.array(aLogprob, { maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant('tool-call-delta' as const),
    choice: fc.constant(0),
    index: fc.nat(2),
    id: fc.constant('call_1'),
    name: fc.constant('look'),
    arguments: aText,
  }),
  fc.record({
    type: fc.constant('tool-call-delta' as const),
    choice: fc.constant(0),
    index: fc.nat(2),
    id: fc.constant('call_2'),
    name: fc.constant('patch'),
    arguments: fc.oneof(aText, fc.constant('{"input":"'), fc.constant('a\\n')),
  }),
  fc.record({
    type: fc.constant('evidence' as const),
    choice: fc.constant(0),
    evidence: fc.constant({ pointer: '/a', confidence: 0.5, runnerUp: { value: null, probability: 0.25 } }),
  }),
  fc.record({ type: fc.constant('thought' as const), text: aText }),
  fc.record({
    type: fc.constant('usage' as const),
    usage: fc.record({ promptTokens: fc.nat(), completionTokens: fc.nat(), cachedTokens: fc.nat() }),
  }),
)
const anEnd = fc.constantFrom('stop', 'length', 'tool_calls', 'failed', 'cancelled')

const PLAIN = { input: 'Hi' }

interface Progress {
  readonly events: ResponseEvent[]
  readonly resource: ResponseResource
}

function progressOf(request: object, steps: readonly Step[], end: string, queued: boolean): Progress {
  const { echo, sealThoughts, tools } = atOnce(readResponseRequest({ model: 'a/b', ...request }))
  const events: ResponseEvent[] = []
  const head = {
    id: 'resp_1',
    createdAt: 1,
    model: 'a/b',
    echo: { ...echo, store: false },
    sealThoughts,
    tools,
  }
  // What a stream sends is written at once: later changes must not be seen in it.
  const progress = new ResponseProgress(head, (event) => events.push(JSON.parse(JSON.stringify(event))))
  if (queued) progress.queued()
  progress.begin()
  for (const step of steps) step.type === 'thought' ? progress.think(step.text) : progress.take(step)
  if (end === 'failed' || end === 'cancelled') progress.fail(new V1Error(end === 'failed' ? 500 : 499, 'No.'))
  else {
    progress.take({ type: 'finish', choice: 0, reason: end as 'stop' })
    progress.complete()
  }
  return { events, resource: JSON.parse(JSON.stringify(progress.resource)) as ResponseResource }
}

const aCase = fc.tuple(aRequest, fc.array(aStep, { maxLength: 12 }), anEnd, fc.boolean())

describe.skipIf(!judgesAreHere)('the schemas in ../shared/openai, which lie beside the checkout', () => {
  const judge = judgesAreHere ? judges() : undefined

  test('every event and every response satisfies both', () => {
    fc.assert(
      fc.property(aCase, (given) => {
        const { events, resource } = progressOf(...given)
        expect(judge!.response(resource)).toEqual([])
        for (const event of events) expect(judge!.event(event), JSON.stringify(event)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('can refuse', () => {
    expect(
      judge!.response({ ...progressOf(PLAIN, [], 'stop', false).resource, output: [{ type: 'message' }] }),
    ).toHaveLength(2)
    expect(judge!.event({ type: 'response.output_text.delta' })).toHaveLength(2)
  })
})

test('an answer of thoughts alone has an empty message, but where it was cut off', () => {
  const typesOf = (end: string) =>
    progressOf(PLAIN, [{ type: 'thought', text: 'Hm.' }], end, false).resource.output.map(({ type }) => type)
  expect(typesOf('stop')).toEqual(['reasoning', 'message'])
  expect(typesOf('length')).toEqual(['reasoning'])
})

test('the events of a stream put together are the response', () => {
  fc.assert(
    fc.property(aCase, (given) => {
      const { events, resource } = progressOf(...given)
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i))
      const rebuilt = rebuild(events)
      if (resource.status === 'completed' || resource.status === 'incomplete') {
        expect(rebuilt.deltas).toEqual(resource.output.map(textOf))
        expect(rebuilt.done).toEqual(resource.output)
        expect(rebuilt.open).toBe(0)
      }
      expect(events.at(-1)!.response).toEqual(resource)
    }),
  )
})

test('an answer without a word is an empty message', () => {
  const { resource } = progressOf(PLAIN, [], 'stop', false)
  expect(resource.output).toMatchObject([{ type: 'message', status: 'completed', content: [{ text: '' }] }])
})

test('an answer that was cut off is incomplete, and so is its last item', () => {
  const { resource } = progressOf(PLAIN, [{ type: 'text-delta', choice: 0, text: 'Once' }], 'length', false)
  expect(resource).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  expect(resource.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'Once' }] }])
})

test('an error is an event that clients throw and a failed response', () => {
  const { events, resource } = progressOf(PLAIN, [{ type: 'text-delta', choice: 0, text: 'Once' }], 'failed', false)
  expect(events.slice(-2)).toMatchObject([{ type: 'error', message: 'No.' }, { type: 'response.failed' }])
  expect(resource).toMatchObject({ status: 'failed', error: { message: 'No.' }, output: [{ status: 'incomplete' }] })
})

function textOf(item: ResponseResource['output'][number]): string {
  if (item.type === 'function_call') return (item as FunctionCallItem).arguments
  if (item.type === 'custom_tool_call') return item.input
  if (item.type === 'reasoning') return item.summary.map(({ text }) => text).join('')
  return (item as MessageItem).content.map(({ text }) => text).join('')
}

/** What a client that trusts the deltas alone, and one that trusts the items alone, would hold. */
function rebuild(events: readonly ResponseEvent[]) {
  const deltas: string[] = []
  const done: unknown[] = []
  let open = 0
  for (const event of events) {
    const index = event.output_index as number
    if (event.type.endsWith('.delta')) deltas[index] += event.delta as string
    if (event.type === 'response.output_item.added') {
      expect(index).toBe(deltas.length)
      deltas.push('')
      open++
    }
    if (event.type === 'response.output_item.done') {
      done[index] = event.item
      open--
    }
    expect(open, 'one item at a time').toBeLessThanOrEqual(1)
  }
  return { deltas, done, open }
}

test('adds to what is known of the values of a document, and does not copy it for each', () => {
  const { echo, sealThoughts, tools } = atOnce(readResponseRequest({ model: 'a/b', input: 'Hi' }))
  const about = { id: 'resp_1', createdAt: 1, model: 'a/b', echo: { ...echo, store: false } }
  const progress = new ResponseProgress({ ...about, sealThoughts, tools })
  const made = new Set<object>()
  for (let i = 0; i < 100; i++) {
    progress.take({ type: 'text-delta', choice: 0, text: `,"${i}":1` })
    progress.take({ type: 'evidence', choice: 0, evidence: { pointer: `/${i}`, confidence: 0.5 } })
    const [content] = (progress.resource.output[0] as MessageItem).content
    made.add((content as { evidence: object }).evidence)
  }
  expect([...made].map((one) => Object.keys(one).length)).toEqual([100])
})
