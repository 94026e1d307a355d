/** What the endpoints tell of values, as clients read it. */
import { describe, expect, it } from 'vitest'
import type { ChatCall, Evidence, Part } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import { chunksOf, errorOf, jsonOf, MODEL, posting, serviceOf } from '../v1.test-helper.js'
import { Answer } from '../wire/reply.js'

const PLACES: readonly Evidence[] = [
  {
    pointer: '/total',
    confidence: 0.75,
    pNull: 0.125,
    source: { message: 1, part: 0, start: 6, end: 14 },
  },
  { pointer: '/state', confidence: 0.5, runnerUp: { value: 'shut', probability: 0.25 } },
]
const WIRE = {
  '/total': { confidence: 0.75, p_null: 0.125, source: { message: 1, part: 0, start: 6, end: 14 } },
  '/state': { confidence: 0.5, runner_up: { value: 'shut', probability: 0.25 } },
}

function telling(capabilities: object = { evidence: true }) {
  const calls: ChatCall[] = []
  const engine = scripted({
    capabilities,
    models: {
      [MODEL]: function* (call): Generator<Part> {
        calls.push(call)
        const choices = Array.from({ length: call.n }, (_, choice) => choice)
        const say = (text: string): Part[] => choices.map((choice) => ({ type: 'text-delta', choice, text }))
        const tell = (evidence: Evidence): Part[] =>
          call.evidence ? choices.map((choice) => ({ type: 'evidence', choice, evidence })) : []
        yield* say('{"total":1250')
        yield* tell(PLACES[0]!)
        yield* say(',"state":"open"}')
        yield* tell(PLACES[1]!)
        for (const choice of choices) yield { type: 'finish', choice, reason: 'stop' }
      },
    },
  })
  const { ask, chat } = serviceOf(engine)
  const responses = (body: object) => ask('/responses', posting({ input: 'Total 1,250.00.', ...body }))
  return { calls, chat, responses }
}

const CHAT = { response_format: { type: 'json_object' }, evidence: true }
const RESPONSE = { text: { format: { type: 'json_object' } }, evidence: true }

describe('evidence in /chat/completions', () => {
  it('stands beside each message, by JSON pointer', async () => {
    const { chat } = telling()
    const { choices } = jsonOf(await chat({ ...CHAT, n: 2 }))
    expect(choices).toMatchObject([
      { index: 0, evidence: WIRE },
      { index: 1, evidence: WIRE },
    ])
    expect(Object.keys(choices[0].message)).not.toContain('evidence')
  })

  it('comes in a stream behind the text that closes the value, and once more with the end', async () => {
    const { chat } = telling()
    const chunks = chunksOf(await chat({ ...CHAT, stream: true }))
    const pieces = chunks.map(({ choices: [{ delta, evidence }] }) => evidence ?? delta.content ?? '').filter(Boolean)
    expect(pieces).toEqual([
      '{"total":1250',
      { '/total': WIRE['/total'] },
      ',"state":"open"}',
      { '/state': WIRE['/state'] },
      WIRE,
    ])
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop')
  })

  it('is not there where nobody asked', async () => {
    const { chat, calls } = telling()
    for (const evidence of [undefined, false, null]) {
      const body = jsonOf(await chat({ ...CHAT, evidence }))
      expect(body.choices[0]).not.toHaveProperty('evidence')
    }
    expect(calls.map(({ evidence }) => evidence)).toEqual([undefined, undefined, undefined])
  })
})

describe('evidence in /responses', () => {
  it('stands in the text of the message', async () => {
    const { responses } = telling()
    const { output } = jsonOf(await responses(RESPONSE))
    expect(output[0].content).toMatchObject([{ type: 'output_text', evidence: WIRE }])
  })

  it('has an event with no text in a stream, and is in what is told at the end', async () => {
    const { responses } = telling()
    const { text } = await responses({ ...RESPONSE, stream: true })
    const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!))
    const evidenceEvents = events.filter(({ type, evidence }) => type === 'response.output_text.delta' && evidence)
    expect(evidenceEvents.map(({ evidence }) => evidence)).toEqual([
      { '/total': WIRE['/total'] },
      { '/state': WIRE['/state'] },
    ])
    const [item] = events.filter(({ type }) => type === 'response.output_item.done')
    for (const event of evidenceEvents) {
      expect(event).toMatchObject({ item_id: item.item.id, output_index: 0, content_index: 0, delta: '' })
      expect(events[event.sequence_number - 1]).toMatchObject({ type: 'response.output_text.delta' })
    }
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, i) => i))
    expect(item.item.content[0].evidence).toEqual(WIRE)
    expect(events.at(-1).response.output[0].content[0].evidence).toEqual(WIRE)
  })
})

it('places are those in the texts that were sent: engines know how a message was joined', async () => {
  const { calls, chat, responses } = telling()
  const texts = ['one', 'three']
  await chat({ ...CHAT, messages: [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }] })
  const content = texts.map((text) => ({ type: 'input_text', text }))
  await responses({ ...RESPONSE, input: [{ role: 'user', content }] })
  for (const call of calls) expect(call.messages).toEqual([{ role: 'user', content: 'one\nthree', joined: [3, 5] }])
  expect(calls).toHaveLength(2)
})

it('of a document that grows is added to, and not copied for each value', () => {
  const answer = new Answer(1)
  const made = new Set<unknown>()
  for (let i = 0; i < 100; i++) {
    answer.take({ type: 'evidence', choice: 0, evidence: { pointer: `/${i}`, confidence: 0.5 } })
    made.add(answer.choices[0]!.evidence)
  }
  expect([...made].map((one) => Object.keys(one as object).length)).toEqual([100])
})

describe('evidence is refused by name', () => {
  it.each([
    ['chat', 'no document', { evidence: true }],
    ['chat', 'no boolean', { ...CHAT, evidence: 'yes' }],
    ['responses', 'no document', { evidence: true }],
    ['responses', 'no boolean', { ...RESPONSE, evidence: 1 }],
  ] as const)('in %s: %s', async (endpoint, _, body) => {
    const { calls, ...ask } = telling()
    expect(errorOf(await ask[endpoint](body))).toMatchObject({ status: 400, param: 'evidence' })
    expect(calls).toEqual([])
  })

  it('where the model does not tell it', async () => {
    const { calls, chat, responses } = telling({})
    expect(errorOf(await chat(CHAT))).toMatchObject({ status: 400, param: 'evidence' })
    expect(errorOf(await responses(RESPONSE))).toMatchObject({ status: 400, param: 'evidence' })
    expect(calls).toEqual([])
  })
})
