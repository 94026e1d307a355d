import { describe, expect, it } from 'vitest'
import { createV1 } from '../../service/v1.js'
import { errorOf, heard, jsonOf, posting, serviceOf } from '../../service/v1.test-helper.js'
import { scripted } from '../scripted.js'
import { fallback, upstream } from '../upstream.js'

const NAMES = { 'cluster/decides': 'test/decides' }
type Send = (url: string, init: RequestInit) => Promise<Response>

/** A service of ours that passes decisions on by `send`. */
function passing(send: Send) {
  const engine = upstream({
    baseURL: 'http://localhost/v1',
    models: NAMES,
    capabilities: { decisions: true, images: true },
    fetch: send,
  })
  const { ask } = serviceOf(engine)
  const post = (path: string) => (body: object) => ask(path, posting({ model: 'cluster/decides', ...body }))
  return { engine, decisions: post('/decisions'), systemOne: post('/systemone') }
}

/** Our own service in front of another of our services, which keeps what it is asked. */
function chained(capabilities: object = { decisions: true, images: true }) {
  const deciding = scripted({
    models: { 'test/decides': '' },
    capabilities,
    decide: ({ instructions, options }) => (instructions === 'Refuse.' ? undefined : options.map((_, i) => 2 ** i)),
  })
  const { calls, engine } = heard(deciding)
  const behind = createV1({ engine, keys: 'none', log: () => {} })
  return { calls, ...passing((url, init) => behind.fetch(new Request(url, init))) }
}

const QUESTIONS = [
  { type: 'predicate', name: 'spam', instructions: 'It is spam.' },
  {
    type: 'choice',
    name: 'team',
    instructions: 'Who?',
    choices: [{ value: 'a', description: 'the first' }, { value: true }],
  },
  { type: 'score', name: 'mood', instructions: 'How?', levels: [{ label: 'bad' }, { label: 'good' }] },
  { type: 'predicate', name: 'no', instructions: 'Refuse.' },
]

describe('upstream decides', () => {
  it('as the other service does, in the words of both forms', async () => {
    const { decisions, systemOne, calls } = chained()
    const { usage, ...body } = jsonOf(await decisions({ input: 'Help!', questions: QUESTIONS }))
    expect(body).toMatchObject({
      model: 'cluster/decides',
      answers: [
        { name: 'spam', probability: 1 / 3 },
        { name: 'team', choice: true, probabilities: [{ probability: 1 / 3 }, { value: true, probability: 2 / 3 }] },
        { name: 'mood', score: 2 / 3 },
        { type: 'refusal', name: 'no' },
      ],
    })
    expect(usage.input_tokens).toBeGreaterThan(0)
    const named = { spam: { type: 'noul', instructions: 'Spam?', criteria: { true: 'it sells' } } }
    const levels = { mood: { type: 'score', instructions: 'How?', criteria: ['bad', { of: 'good' }] } }
    const reply = jsonOf(await systemOne({ state: { a: 1 }, questions: { ...named, ...levels } }))
    expect(reply.answers).toMatchObject({ spam: { noul: 1 / 3 }, mood: { score: 2 / 3 } })
    expect(calls).toMatchObject([
      { model: 'test/decides', state: 'Help!', order: 'given' },
      { state: '{"a": 1}', questions: [{ instructions: 'Spam?\nYes: it sells' }, {}] },
    ])
    expect(calls[0]!.questions[1]!.options).toEqual([{ text: 'a', description: 'the first' }, { text: 'true' }])
    expect(calls[1]!.questions[1]!.options[1]).toEqual({ text: '1', description: '{"of": "good"}' })
  })

  it('with the whole conversation, the order and the effort', async () => {
    const { decisions, calls } = chained()
    const input = [
      { role: 'developer', content: 'Be strict.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'See:' },
          { type: 'input_image', image_url: 'data:,x' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Seen.' },
      { role: 'assistant', content: 'So it is.' },
    ]
    const answer = await decisions({
      input,
      questions: QUESTIONS.slice(0, 1),
      order: 'average',
      reasoning: { effort: 'medium' },
    })
    expect(answer.status).toBe(200)
    expect(calls).toMatchObject([{ order: 'average', thinkingBudget: 2048 }])
    expect(calls[0]!.state).toEqual([
      { role: 'system', content: 'Be strict.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See:' },
          { type: 'image', url: 'data:,x' },
        ],
      },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c1', content: 'Seen.' },
      { role: 'assistant', content: 'So it is.' },
    ])
  })

  it('says where the other service has no /decisions, and what else it refuses', async () => {
    const ask = { input: 'x', questions: QUESTIONS.slice(0, 1) }
    for (const status of [404, 405]) {
      const { decisions } = passing(async () => Response.json({ detail: 'Not Found' }, { status }))
      const error = errorOf(await decisions(ask))
      expect(error).toMatchObject({ code: 'unsupported_model', param: 'model' })
      expect(error.message).toContain('has no /decisions')
    }
    const missing = passing(async () => Response.json({ message: 'No test/decides here.' }, { status: 404 }))
    expect(errorOf(await missing.decisions(ask)).message).toBe('No test/decides here.')
    const busy = passing(async () => Response.json({ error: { message: 'Full.' } }, { status: 429 }))
    expect((await busy.decisions(ask)).status).toBe(429)
  })

  it('takes rounded probabilities, and no answer that is none', async () => {
    const sent = (answers: unknown) => passing(async () => Response.json({ answers })).decisions
    const choice = QUESTIONS.slice(1, 2)
    const rounded = [
      { value: 'true', probability: 0.333 },
      { value: 'a', probability: 0.666 },
    ]
    const { answers } = jsonOf(
      await sent([{ type: 'choice', probabilities: rounded }])({ input: 'x', questions: choice }),
    )
    expect(answers[0]).toMatchObject({ choice: 'a', probabilities: [{ probability: expect.closeTo(2 / 3, 12) }, {}] })
    for (const answers of [
      undefined,
      [],
      [{ type: 'score' }],
      [{ type: 'choice', probabilities: rounded.slice(1) }],
      [{ type: 'choice', probabilities: rounded.map(({ value }) => ({ value, probability: 0 })) }],
      [{ type: 'choice', probabilities: rounded.map(({ value }) => ({ value, probability: -1 })) }],
    ]) {
      expect(errorOf(await sent(answers)({ input: 'x', questions: choice })).code).toBe('upstream_error')
    }
  })

  it('calibrated only where the other service says that it did', async () => {
    const ask = { input: 'x', questions: QUESTIONS.slice(0, 1), calibrated: true }
    const answers = [{ type: 'predicate', probability: 0.25 }]
    const calibrated = passing(async () => Response.json({ answers, calibration: { temperature: 1.5 } }))
    expect(jsonOf(await calibrated.decisions(ask))).toMatchObject({ answers, calibration: { temperature: 1.5 } })
    const silent = passing(async () => Response.json({ answers }))
    expect(errorOf(await silent.decisions(ask))).toMatchObject({ param: 'calibrated' })
  })

  it('behind a device that has no such model', async () => {
    const { engine, calls } = chained()
    const both = fallback(scripted({ models: { 'test/here': 'Hi' } }), engine)
    const { ask } = serviceOf(both)
    const body = JSON.stringify({ model: 'cluster/decides', input: 'x', questions: QUESTIONS })
    const answer = await ask('/decisions', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(jsonOf(answer).answers).toHaveLength(4)
    expect(calls).toHaveLength(1)
  })
})
