import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ChatCall } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { type Script, scripted } from '../../../engines/scripted.js'
import type { UsageEvent } from '../../../usage/index.js'
import { errorOf, finish, jsonOf, KEY, MODEL, pause, posting, serviceOf, text } from '../../v1.test-helper.js'
import { eventsOf, look, service, settled } from './responses.test-helper.js'
import { BackgroundResponse } from './store/background.js'
import { folderResponses } from './store/folder.js'

async function temporary(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'local-v1-background-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

describe('in the background', () => {
  const slow = [text('One'), { type: 'wait', ms: 60_000 } as const, text(' two'), finish()]

  test('it is made while no client waits', async () => {
    const { create, ask } = service([{ type: 'wait', ms: 5 }, text('Done.'), finish()])
    const { id, status } = await create({ background: true })
    expect(status).toBe('queued')
    expect(await settled(ask, id)).toMatchObject({
      background: true,
      store: true,
      output: [{ content: [{ text: 'Done.' }] }],
    })
  })

  test('what it has used until it failed is stored with it', async () => {
    const { create, ask } = service([text('One'), text(' two'), new V1Error(503, 'The device was lost.')])
    const { id } = await create({ background: true })
    expect(await settled(ask, id)).toMatchObject({ status: 'failed', usage: { output_tokens: 2, total_tokens: 2 } })
  })

  test('it is cancelled once, and stored as cancelled', async () => {
    const { create, ask } = service(slow)
    const { id } = await create({ background: true })
    const cancel = () => ask(`/responses/${id}/cancel`, { method: 'POST' })
    expect(jsonOf(await cancel())).toMatchObject({ id, status: 'cancelled' })
    expect(jsonOf(await cancel())).toMatchObject({ id, status: 'cancelled' })
    expect(jsonOf(await ask(`/responses/${id}`))).toMatchObject({ status: 'cancelled' })
  })

  test('nothing goes on from it before it is over, and the error says so', async () => {
    const { create, post, ask } = service(slow)
    const { id } = await create({ background: true })
    for (const background of [false, true]) {
      const early = errorOf(await post({ input: 'On', previous_response_id: id, background }))
      expect(early).toMatchObject({ status: 400, code: 'response_in_progress', param: 'previous_response_id' })
    }
    await ask(`/responses/${id}`, { method: 'DELETE' })
  })

  test('its input is listed while it waits, while it is made, and once it was cancelled', async () => {
    const { create, ask } = service((call) => (call.messages.length > 1 ? slow : 'Fine.'), { maxInFlight: 1 })
    const first = await create({ store: true })
    const goesOn = { input: 'On', background: true, previous_response_id: first.id }
    const [made, waiting] = [await create(goesOn), await create(goesOn)]
    for (const { id } of [waiting, made]) {
      const texts = async () =>
        jsonOf(await ask(`/responses/${id}/input_items?order=asc`)).data.map(
          ({ content }: { content: { text: string }[] }) => content[0]!.text,
        )
      const all = ['Hi', 'Fine.', 'On']
      expect(await texts()).toEqual(all)
      await ask(`/responses/${id}/cancel`, { method: 'POST' })
      expect(await texts()).toEqual(all)
    }
  })

  test('nothing else can be cancelled', async () => {
    const { create, ask } = service()
    const { id } = await create({ store: true })
    expect(errorOf(await ask(`/responses/${id}/cancel`, { method: 'POST' }))).toMatchObject({ status: 400 })
  })

  test('its events can be followed, and continued where a client stopped', async () => {
    const { create, ask } = service([{ type: 'wait', ms: 20 }, text('One'), text(' two'), finish()])
    const { id } = await create({ background: true })
    const all = eventsOf((await ask(`/responses/${id}?stream=true`)).text)
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, i) => i))
    expect(all.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.queued'])
    expect(all.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    // Whoever comes back once it is over finds them as they were.
    expect(eventsOf((await ask(`/responses/${id}?stream=true`)).text)).toEqual(all)
    expect(eventsOf((await ask(`/responses/${id}?stream=true&starting_after=4`)).text)).toEqual(all.slice(5))
    const cancelled = await ask(`/responses/${id}/cancel`, { method: 'POST' })
    expect(jsonOf(cancelled)).toMatchObject({ status: 'completed' })
    await ask(`/responses/${id}`, { method: 'DELETE' })
    expect((await ask(`/responses/${id}?stream=true`)).status).toBe(404)
  })

  test('its events are spelled as they are read, however many there are by then', async () => {
    const running = new BackgroundResponse({ caller: 'a' }, new AbortController(), () => expect.fail())
    const events = Array.from({ length: 10_000 }, (_, i) => ({ type: 'told', sequence_number: i, delta: 'a word' }))
    events.forEach(running.hear)
    running.end()
    const spelled = vi.spyOn(JSON, 'stringify')
    const decoder = new TextDecoder()
    let [most, told] = [0, '']
    try {
      for await (const piece of running.follow(-1)) {
        most = Math.max(most, spelled.mock.calls.length)
        spelled.mockClear()
        told += decoder.decode(piece)
      }
    } finally {
      spelled.mockRestore()
    }
    expect(most).toBeLessThan(events.length / 10)
    expect(told.match(/(?<=^data: ).*/gm)).toEqual([...events.map((event) => JSON.stringify(event)), '[DONE]'])
  })

  test('of events that are held no more, the beginning and the end are told', async () => {
    const many = Array.from({ length: 20_000 }, () => text('a'))
    const { create, ask } = service(({ messages }) => (messages[0]!.content === 'Hi' ? [...many, finish()] : 'Fine.'))
    const short = await create({ background: true, input: 'First' })
    await settled(ask, short.id)
    for (let i = 0; i < 16; i++) await settled(ask, (await create({ background: true, input: 'Later' })).id)
    const bodies = [{ background: true }, { store: true, input: 'You?' }]
    for (const { id } of [short, ...(await Promise.all(bodies.map(create)))]) {
      const response = await settled(ask, id)
      const follow = async (query = '') => eventsOf((await ask(`/responses/${id}?stream=true${query}`)).text)
      const begun = { id, status: 'in_progress', output: [], completed_at: null }
      expect(await follow()).toMatchObject([
        { type: 'response.created', sequence_number: 0, response: begun },
        { type: 'response.completed', sequence_number: 1, response },
      ])
      expect(await follow('&starting_after=7')).toMatchObject([{ type: 'response.completed', sequence_number: 8 }])
    }
  })

  test('it fails while no client listens, and says why when it is retrieved', async () => {
    const { create, ask } = service([new V1Error(503, 'No device.')])
    const { id } = await create({ background: true })
    expect(await settled(ask, id)).toMatchObject({ status: 'failed', error: { message: 'No device.' } })
  })

  test('of one that a process was making when it was killed, the next one says that it failed', async () => {
    const path = await temporary()
    const killed = service(slow, { responses: folderResponses(path) })
    const { id } = await killed.create({ background: true })
    const next = service('Fine.', { responses: folderResponses(path) })
    const said = { id, status: 'failed', error: { code: 'server_error', message: expect.stringContaining('again') } }
    expect(await settled(next.ask, id)).toMatchObject(said)
    expect(jsonOf(await next.ask(`/responses/${id}/cancel`, { method: 'POST' }))).toMatchObject(said)
    const events = eventsOf((await next.ask(`/responses/${id}?stream=true`)).text)
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: said })
    await killed.ask(`/responses/${id}/cancel`, { method: 'POST' })
    expect(jsonOf(await next.ask(`/responses/${id}`))).toMatchObject({ status: 'cancelled' })
  })

  test.each([600_000, Number.POSITIVE_INFINITY])(
    'one that is cut off by the end of the service has failed, as all others; it is counted and stored (timeoutMs: %s)',
    async (timeoutMs) => {
      const path = await temporary()
      const outcomes: string[] = []
      const options = { timeoutMs, onUsage: ({ outcome }: UsageEvent) => void outcomes.push(outcome) }
      let heard = 0
      const stuck = async function* ({ signal }: ChatCall) {
        yield text('One')
        heard++
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      const { create, ask, post, v1 } = service(stuck, { responses: folderResponses(path), ...options })
      const { id } = await create({ background: true })
      const followed = ask(`/responses/${id}?stream=true`)
      const [whole, streamed] = [post({ input: 'Hi' }), post({ input: 'Hi', stream: true })]
      while (heard < 3) await pause(5)
      const cut = new AbortController()
      const closed = v1.close(cut.signal)
      cut.abort()
      await closed
      const { ask: later } = service('Fine.', { responses: folderResponses(path) })
      expect(await settled(later, id)).toMatchObject({ status: 'failed', output: [{ content: [{ text: 'One' }] }] })
      expect(eventsOf((await followed).text).at(-1)).toMatchObject({ type: 'response.failed', response: { id } })
      expect(errorOf(await whole)).toMatchObject({ status: 503, code: 'closing' })
      expect(eventsOf((await streamed).text).at(-1)).toMatchObject({ type: 'response.failed' })
      expect(outcomes).toEqual(['error', 'error', 'error'])
    },
  )

  test('what the queue refuses is refused to whoever asked, and what gives way in it says so', async () => {
    const { create, post, ask } = service(slow, { maxInFlight: 1, maxQueue: 2, keys: [KEY, 'another'] })
    const mine = [
      await create({ background: true }),
      await create({ background: true }),
      await create({ background: true }),
    ]
    const refused = await post({ input: 'Hi', background: true })
    expect(errorOf(refused)).toMatchObject({ status: 429, code: 'queue_full' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const theirs = await post({ input: 'Hi', background: true }, '/responses', { authorization: 'Bearer another' })
    expect(jsonOf(theirs)).toMatchObject({ status: 'queued' })
    expect(await settled(ask, mine[2].id)).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } })
    for (const { id } of mine) await ask(`/responses/${id}`, { method: 'DELETE' })
  })

  test('what the model cannot do is refused to whoever asked', async () => {
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { tools: false } })
    const { ask } = serviceOf(engine)
    const asked = await ask('/responses', posting({ input: 'Hi', tools: [look], background: true }))
    expect(errorOf(asked)).toMatchObject({ status: 400, param: 'tools' })
  })

  test.each([
    [{ text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { not: {} } } } }, 'text.format.schema'],
    [{ tools: [{ ...look, strict: true, parameters: { not: {} } }] }, 'tools[0].parameters'],
    [{ input: [{ type: 'item_reference', id: 'msg_0' }] }, 'input[0].id'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0]'],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice'],
    [{ previous_response_id: 'resp_0' }, 'previous_response_id'],
  ])('what says %j is refused to whoever asked, with or without others before it', async (body, param) => {
    const { post, ask, create } = service(slow, { maxInFlight: 1 })
    for (const others of [false, true]) {
      const running = others && (await create({ background: true }))
      const refused = await post({ input: 'Hi', background: true, ...body })
      expect(errorOf(refused)).toMatchObject({ status: 400, param })
      if (running) await ask(`/responses/${running.id}`, { method: 'DELETE' })
    }
  })

  test('one that waits reads what its conversation has become until then', async () => {
    const script: Script = [{ type: 'wait', ms: 20 }, text('Done.'), finish()]
    const { post, ask, create, calls } = service(script, { maxInFlight: 1 })
    const conversation = jsonOf(await post({}, '/conversations')).id
    const first = await create({ background: true, conversation })
    const second = await create({ background: true, conversation, input: 'And?' })
    for (const { id } of [first, second]) await settled(ask, id)
    expect(calls.at(-1)!.messages).toHaveLength(3)
  })

  test('nothing is begun for a model that there is not', async () => {
    expect(errorOf(await service().post({ model: 'no/model', input: 'Hi', background: true }))).toMatchObject({
      status: 404,
    })
  })
})
