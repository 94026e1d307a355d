import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Part } from '../../engine.js'
import { V1Error } from '../../errors.js'
import { judges, judgesAreHere } from './judges.test-helper.js'
import { type ResponseEvent, ResponseProgress } from './progress.js'
import { readResponseRequest } from './request.js'
import type { FunctionCallItem, MessageItem, ResponseResource } from './resource.js'

const REQUESTS = [
  { input: 'Hi' },
  { input: 'Hi', instructions: 'Be brief.', temperature: 0, max_output_tokens: 16, metadata: { a: 'b' }, user: 'me' },
  {
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    tools: [
      {
        type: 'function',
        name: 'look',
        description: 'Looks.',
        parameters: { type: 'object', properties: {} },
        strict: true,
      },
      { type: 'web_search' },
    ],
    tool_choice: { type: 'function', name: 'look' },
    reasoning: { effort: 'low', summary: 'auto' },
    truncation: 'auto',
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  },
  {
    input: 'Hi',
    text: { format: { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object' } }, verbosity: 'medium' },
    tool_choice: 'auto',
    parallel_tool_calls: false,
    prompt_cache_key: 'k',
    safety_identifier: 's',
    max_tool_calls: 2,
    store: false,
  },
]

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
  fc.record({ type: fc.constant('thought' as const), text: aText }),
  fc.record({
    type: fc.constant('usage' as const),
    usage: fc.record({ promptTokens: fc.nat(), completionTokens: fc.nat(), cachedTokens: fc.nat() }),
  }),
)
const anEnd = fc.constantFrom('stop', 'length', 'tool_calls', 'failed', 'cancelled')

interface Told {
  readonly events: ResponseEvent[]
  readonly resource: ResponseResource
}

function told(request: number, steps: readonly Step[], end: string, queued: boolean): Told {
  const { echo, sealThoughts } = readResponseRequest({ model: 'a/b', ...REQUESTS[request] })
  const events: ResponseEvent[] = []
  const head = { id: 'resp_1', createdAt: 1, model: 'a/b', echo: { ...echo, store: false }, sealThoughts }
  // What a stream sends is written at once: later changes must not be seen in it.
  const progress = new ResponseProgress(head, (event) => events.push(JSON.parse(JSON.stringify(event))))
  if (queued) progress.queued()
  progress.begin()
  for (const step of steps) step.type === 'thought' ? progress.think(step.text) : progress.take(step)
  if (end === 'failed' || end === 'cancelled') progress.fail(new V1Error(500, 'No.'), end)
  else {
    progress.take({ type: 'finish', choice: 0, reason: end as 'stop' })
    progress.complete()
  }
  return { events, resource: JSON.parse(JSON.stringify(progress.resource)) as ResponseResource }
}

const aCase = fc.tuple(fc.nat(REQUESTS.length - 1), fc.array(aStep, { maxLength: 12 }), anEnd, fc.boolean())

describe.skipIf(!judgesAreHere)('the schemas in ../shared/openai, which lie beside the checkout', () => {
  const judge = judgesAreHere ? judges() : undefined

  test('both take every event and every response', () => {
    fc.assert(
      fc.property(aCase, (given) => {
        const { events, resource } = told(...given)
        expect(judge!.response(resource)).toEqual([])
        for (const event of events) expect(judge!.event(event), JSON.stringify(event)).toEqual([])
      }),
      { numRuns: 150 },
    )
  })

  test('can refuse', () => {
    expect(judge!.response({ ...told(0, [], 'stop', false).resource, output: [{ type: 'message' }] })).toHaveLength(2)
    expect(judge!.event({ type: 'response.output_text.delta' })).toHaveLength(2)
  })
})

test('the events of a stream put together are the response', () => {
  fc.assert(
    fc.property(aCase, (given) => {
      const { events, resource } = told(...given)
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
  const { resource } = told(0, [], 'stop', false)
  expect(resource.output).toMatchObject([{ type: 'message', status: 'completed', content: [{ text: '' }] }])
})

test('an answer that was cut off is incomplete, and so is its last item', () => {
  const { resource } = told(0, [{ type: 'text-delta', choice: 0, text: 'Once' }], 'length', false)
  expect(resource).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  expect(resource.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'Once' }] }])
})

test('an error is an event that clients throw and a failed response', () => {
  const { events, resource } = told(0, [{ type: 'text-delta', choice: 0, text: 'Once' }], 'failed', false)
  expect(events.slice(-2)).toMatchObject([{ type: 'error', message: 'No.' }, { type: 'response.failed' }])
  expect(resource).toMatchObject({ status: 'failed', error: { message: 'No.' }, output: [{ status: 'incomplete' }] })
})

function textOf(item: ResponseResource['output'][number]): string {
  if (item.type === 'function_call') return (item as FunctionCallItem).arguments
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
