import { expect, test } from 'vitest'
import { citySchema, strict, weatherTool } from './chat.js'
import type { Answer, Reach } from './reach.js'
import { CHAT, chat, chunks, events, expectCommonHeaders, expectError, readUntil, textOf, valid } from './speak.js'

export function streamContract(reach: () => Reach, whole: boolean): void {
  const stream = (model: string, body: Record<string, unknown> = {}): Promise<Answer> =>
    reach().fetch(CHAT, chat(model, { stream: true, ...body }))

  test('a stream has the role, the text, the finish reason and the end', async () => {
    const answer = await stream('test/hello')
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(answer.headers.get('cache-control')).toMatch(/no-cache|no-store/)
    expect(answer.headers.get('x-accel-buffering')).toBe('no')
    expectCommonHeaders(answer)
    const all = chunks(answer)
    expect(all[0]!.choices[0]!.delta.role).toBe('assistant')
    expect(textOf(all)).toBe('Hello, wörld 🌍')
    expect(all.at(-1)!.choices[0]!.finish_reason).toBe('stop')
    expect(all.slice(0, -1).every(({ choices }) => choices[0]!.finish_reason === null)).toBe(true)
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    expect(all.every(({ usage }) => usage === undefined)).toBe(true)
  })

  test('text arrives while the rest is still being made', async () => {
    const answer = await reach().open(CHAT, chat('test/endless', { stream: true }))
    expect(answer.status).toBe(200)
    await readUntil(answer, 'tick')
    answer.leave()
  })

  test.each([
    ['test/error-late', 'The device was lost.'],
    ['test/crash-late', ''],
  ])('an error in mid-stream is a frame that the client throws: %s', async (model, message) => {
    const answer = await stream(model)
    expect(answer.status).toBe(200)
    const payloads = events(answer.text)
    const errors = payloads.filter((payload) => payload.startsWith('{"error"'))
    expect(errors).toHaveLength(1)
    const { error } = valid('ErrorResponse', JSON.parse(errors[0]!)) as { error: { message: string } }
    expect(error.message).toContain(message)
    expect(answer.text).toContain('so far')
    expect(answer.text).not.toContain('swordfish')
  })

  if (!whole) return

  test('usage comes last and alone when it is asked for', async () => {
    const all = chunks(await stream('test/hello', { stream_options: { include_usage: true } }))
    const last = all.at(-1)!
    expect(last.choices).toEqual([])
    expect(last.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 })
    expect(all.slice(0, -1).every(({ usage }) => usage === null)).toBe(true)
  })

  test('a stream has the same text as a whole answer', async () => {
    const whole = JSON.parse((await reach().fetch(CHAT, chat('test/json', strict(citySchema)))).text)
    const pieces = chunks(await stream('test/json', strict(citySchema)))
    expect(textOf(pieces)).toBe(whole.choices[0].message.content)
  })

  test('a tool call in pieces', async () => {
    const all = chunks(await stream('test/tools', { tools: [weatherTool] }))
    const deltas = all.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))
    expect(deltas[0]).toMatchObject({ index: 0, id: 'call_one', type: 'function', function: { name: 'weather' } })
    expect(deltas.map((delta) => delta.function?.arguments ?? '').join('')).toBe('{"city":"Bern"}')
    expect(all.at(-1)!.choices[0]!.finish_reason).toBe('tool_calls')
  })

  test('an error before the first part is a plain answer, also when a stream was asked for', async () => {
    expectError(await stream('test/loading'), { status: 503, type: 'service_unavailable' })
    expectError(await stream('test/nothing'), { status: 404, type: 'not_found_error', code: 'model_not_found' })
  })
}
