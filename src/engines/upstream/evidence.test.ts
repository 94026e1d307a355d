import { describe, expect, it } from 'vitest'
import type { ChatCall, Evidence, Part } from '../../contract/engine.js'
import { createV1 } from '../../service/v1.js'
import { chunksOf, errorOf, jsonOf, serviceOf } from '../../service/v1.test-helper.js'
import { scripted } from '../scripted.js'
import { upstream } from '../upstream.js'

const MODEL = 'cluster/tells'
const EVIDENCE: readonly Evidence[] = [
  {
    pointer: '/a',
    confidence: 0.75,
    runnerUp: { value: null, probability: 0.125 },
    pNull: 0.125,
    source: { message: 0, part: 0, start: 4, end: 5 },
  },
  { pointer: '/b~1', confidence: 1 },
]
const FORMAT = { response_format: { type: 'json_object' } }

type Send = (url: string, init: RequestInit) => Promise<Response>

function passing(send: Send) {
  const engine = upstream({
    baseURL: 'http://localhost/v1',
    models: { [MODEL]: 'test/tells' },
    capabilities: { evidence: true },
    fetch: send,
  })
  const { chat } = serviceOf(engine)
  return (body: object) => chat({ model: MODEL, ...FORMAT, ...body })
}

/** Our own service in front of another of our services. */
function chained() {
  const calls: ChatCall[] = []
  const engine = scripted({
    capabilities: { evidence: true },
    models: {
      'test/tells': function* (call): Generator<Part> {
        calls.push(call)
        yield { type: 'text-delta', choice: 0, text: '{"a":1,"b/":"x"}' }
        if (call.evidence) for (const evidence of EVIDENCE) yield { type: 'evidence', choice: 0, evidence }
        yield { type: 'finish', choice: 0, reason: 'stop' }
      },
    },
  })
  const behind = createV1({ engine, keys: 'none', log: () => {} })
  return { calls, chat: passing((url, init) => behind.fetch(new Request(url, init))) }
}

const WIRE = {
  '/a': {
    confidence: 0.75,
    runner_up: { value: null, probability: 0.125 },
    p_null: 0.125,
    source: { message: 0, part: 0, start: 4, end: 5 },
  },
  '/b~1': { confidence: 1 },
}

describe('upstream tells what values rest on', () => {
  it('as the other service does, whole and in a stream', async () => {
    const { chat, calls } = chained()
    expect(jsonOf(await chat({ evidence: true })).choices[0].evidence).toEqual(WIRE)
    const chunks = chunksOf(await chat({ evidence: true, stream: true }))
    const told = chunks.flatMap(({ choices }) => Object.entries(choices[0]?.evidence ?? {}))
    const all = Object.entries(WIRE)
    expect(told).toEqual([...all, ...all])
    expect(jsonOf(await chat({})).choices[0].evidence).toBe(undefined)
    expect(calls.map(({ evidence }) => evidence)).toEqual([true, true, undefined])
  })

  it('with the parts of messages, by which sources are told', async () => {
    const { chat, calls } = chained()
    const content = ['one', 'two'].map((text) => ({ type: 'text', text }))
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [
      { role: 'user', content },
      { role: 'assistant', content, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content },
      { role: 'user', content: 'three' },
    ]
    await chat({ messages, evidence: true })
    expect(calls[0]!.messages.map(({ joined }) => joined)).toEqual([[3, 3], [3, 3], [3, 3], undefined])
  })

  const says = (choice: object, content = '{"a":1}') =>
    passing(async () => {
      const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: 'stop', ...choice }] }
      return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    })

  it('and says where the other service does not', async () => {
    expect(errorOf(await says({})({ evidence: true }))).toMatchObject({ status: 400, param: 'evidence' })
    // Of nothing there is nothing to tell.
    expect((await says({}, '{"a":[]}')({ evidence: true })).status).toBe(200)
    expect((await says({})({})).status).toBe(200)
  })

  it('takes nothing for evidence that is none', async () => {
    for (const evidence of [
      { '/a': null },
      { '/a': {} },
      { '/a': { confidence: 2 } },
      { '/a': { confidence: 0.5, source: { message: 0, part: 0, start: -1, end: 1 } } },
      { '/a': { confidence: 0.5, source: {} } },
      { '/a': { confidence: 0.5, runner_up: { value: {}, probability: 0.5 } } },
      { '/a': { confidence: 0.5, runner_up: { value: 1 } } },
    ]) {
      expect(errorOf(await says({ evidence })({ evidence: true })).code).toBe('upstream_error')
    }
  })
})
