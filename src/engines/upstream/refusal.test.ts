import { describe, expect, it } from 'vitest'
import { errorOf, serviceOf, text } from '../../service/v1.test-helper.js'
import { scripted } from '../scripted.js'
import { fallback, upstream } from '../upstream.js'

const encoder = new TextEncoder()

/** A connection on which so much comes, and which then breaks. */
function breaking(...events: readonly string[]): Response {
  const left = [...events]
  const body = new ReadableStream({
    pull(controller) {
      const event = left.shift()
      if (event === undefined) controller.error(new TypeError('terminated'))
      else controller.enqueue(encoder.encode(event))
    },
  })
  return new Response(body)
}

const engineOf = (answer: () => Response, capabilities = {}) =>
  upstream({
    baseURL: 'http://cluster.test/v1',
    models: ['test/hello'],
    capabilities,
    fetch: async () => answer(),
  })

const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'so far' } }] })}\n\n`

describe('a connection that breaks', () => {
  it('is 503, as one that is not made', async () => {
    for (const events of [[], [chunk]]) {
      const { chat } = serviceOf(engineOf(() => breaking(...events)))
      expect(errorOf(await chat())).toMatchObject({ status: 503, code: 'upstream_down' })
    }
    const { chat } = serviceOf(engineOf(() => breaking(chunk)))
    expect((await chat({ stream: true })).text).toMatch(/so far.*"code":"upstream_down"/s)
  })

  it('is 503 where there is one result', async () => {
    const { ask } = serviceOf(engineOf(() => breaking('{'), { embeddings: true }))
    const body = JSON.stringify({ model: 'test/hello', input: 'Hello' })
    const answer = await ask('/embeddings', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(errorOf(answer)).toMatchObject({ status: 503, code: 'upstream_down' })
  })

  it('leaves a request of which nothing was answered to another engine', async () => {
    const other = scripted({
      models: { 'test/hello': [text('another'), { type: 'finish', choice: 0, reason: 'stop' }] },
    })
    const { chat } = serviceOf(
      fallback(
        engineOf(() => breaking()),
        other,
      ),
    )
    expect((await chat()).text).toContain('another')
  })
})

describe('what went wrong is told', () => {
  it.each([
    [{ error: { message: 'The queue is full.' } }],
    [{ error: 'The queue is full.' }],
    [{ object: 'error', message: 'The queue is full.', code: 400 }],
  ])('in a stream: %j', async (event) => {
    const { chat } = serviceOf(engineOf(() => new Response(`data: ${JSON.stringify(event)}\n\n`)))
    expect(errorOf(await chat())).toMatchObject({
      status: 500,
      code: 'upstream_error',
      message: 'The queue is full.',
    })
  })

  it('in a list, as FastAPI writes it', async () => {
    const detail = [{ loc: ['body', 'messages'], msg: 'Field required' }]
    const { chat } = serviceOf(engineOf(() => Response.json({ detail }, { status: 422 })))
    expect(errorOf(await chat())).toMatchObject({ status: 422, message: JSON.stringify(detail) })
  })
})

it('a date after which to try again is a number of seconds', async () => {
  const headers = { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }
  const { chat } = serviceOf(engineOf(() => Response.json({}, { status: 429, headers })))
  const seconds = Number((await chat()).headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(30)
  expect(seconds).toBeLessThanOrEqual(60)
})
