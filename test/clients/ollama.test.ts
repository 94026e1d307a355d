import { request } from 'node:http'
import { Ollama } from 'ollama'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ollama } from '../../src/service/endpoints/ollama/index.js'
import { scenario } from '../contract/scripts.js'
import { until } from '../contract/speak.js'
import { type Service, startService } from './service.js'

const messages = [{ role: 'user', content: 'Hello?' }]
const SAID = 'Hello, wörld 🌍'
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
}
const script = {
  ...scenario,
  'test/drawn': { ...scenario['test/hello'], capabilities: { sampling: true } },
  'test/tools-then-text': { ...scenario['test/echo'], first: [scenario['test/tools']!] },
}

describe('the client of Ollama, as it comes', () => {
  let service: Service
  let client: Ollama
  let host: string
  beforeAll(async () => {
    service = await startService(script, { endpoints: [ollama()], keys: 'none' })
    host = service.baseURL.replace(/\/v1$/, '')
    client = new Ollama({ host })
  })
  afterAll(() => service?.close())

  test('lists, shows, and asks which run and what version it is', async () => {
    const { models } = await client.list()
    expect(models.map(({ name }) => name)).toEqual(Object.keys(script).map((id) => `${id}:latest`))
    const { capabilities, details } = await client.show({ model: 'test/hello' })
    expect([capabilities, details.family]).toEqual([['completion', 'tools'], 'local-v1'])
    expect((await client.ps()).models).toEqual([])
    expect((await client.version()).version).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test('decides, and reads why not', async () => {
    const questions = { rain: { type: 'noul' as const, instructions: 'It rains.' } }
    const asking = (model: string) => client.systemone({ model, state: 'Clouds.', questions })
    await expect(asking('no/such')).rejects.toThrow(/^The model 'no\/such' does not exist/)
    await expect(asking('test/hello')).rejects.toThrow(/^The model 'test\/hello' cannot decide/)
    const plain = await fetch(`${service.baseURL}/systemone`, {
      method: 'POST',
      body: JSON.stringify({ model: 'no/such', state: 'Clouds.', questions }),
      headers: { 'content-type': 'application/json' },
    })
    expect(await plain.json()).toMatchObject({ error: { param: 'model', code: 'model_not_found' } })
  })

  test('chats, whole and as it comes', async () => {
    const { message, done_reason, prompt_eval_count } = await client.chat({ model: 'test/hello', messages })
    expect([message.content, done_reason, prompt_eval_count]).toEqual([SAID, 'stop', 12])
    const texts: string[] = []
    let last: unknown
    for await (const part of await client.chat({ model: 'test/hello:latest', messages, stream: true })) {
      texts.push(part.message.content)
      last = part
    }
    expect(texts.join('')).toBe(SAID)
    expect(last).toMatchObject({ done: true, eval_count: 3 })
  })

  test('generates, whole and as it comes', async () => {
    expect((await client.generate({ model: 'test/hello', prompt: 'Hello?' })).response).toBe(SAID)
    const texts: string[] = []
    for await (const part of await client.generate({ model: 'test/hello', prompt: 'Hello?', stream: true })) {
      texts.push(part.response ?? '')
    }
    expect(texts.join('')).toBe(SAID)
  })

  test.each([false, true])('calls a tool, and goes on from its result (stream: %s)', async (stream) => {
    const model = stream ? 'test/tools' : 'test/tools-then-text'
    const request = { model, messages, tools: [weather] }
    let message: Awaited<ReturnType<typeof client.chat>>['message'] | undefined
    if (stream) {
      for await (const part of await client.chat({ ...request, stream: true })) {
        if (part.message.tool_calls) message = part.message
      }
    } else ({ message } = await client.chat(request))
    const [call] = message!.tool_calls!
    expect(call!.function).toMatchObject({ name: 'weather', arguments: { city: 'Bern' } })
    const result = { role: 'tool', tool_name: call!.function.name, content: 'sunny' }
    const next = await client.chat({ ...request, model: 'test/echo', messages: [...messages, message!, result] })
    expect(next.message.content).toBe('sunny')
  })

  test('keeps to a schema', async () => {
    const format = {
      type: 'object',
      properties: { city: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
      required: ['city', 'tags'],
    }
    const { message } = await client.chat({ model: 'test/json', messages, format })
    expect(JSON.parse(message.content)).toEqual({ city: 'Bern', tags: ['a'] })
  })

  test('embeds', async () => {
    expect((await client.embed({ model: 'test/every', input: ['a', 'b'] })).embeddings).toHaveLength(2)
    expect((await client.embeddings({ model: 'test/every', prompt: 'a' })).embedding.length).toBeGreaterThan(0)
  })

  test('decides, by the address of its own interface', async () => {
    const questions = { so: { type: 'noul' as const, instructions: 'Is it so?' } }
    const { answers } = await client.systemone({ model: 'test/every:latest', state: 'Hello?', questions })
    expect(answers.so).toMatchObject({ type: 'noul', noul: expect.any(Number) })
  })

  test('pulls', async () => {
    const reported: string[] = []
    for await (const { status } of await client.pull({ model: 'test/hello', stream: true })) reported.push(status)
    expect([reported[0], reported.at(-1)]).toEqual(['pulling manifest', 'success'])
    expect(await client.pull({ model: 'test/hello' })).toEqual({ status: 'success' })
  })

  test('stops what it has begun', async () => {
    const stream = await client.chat({ model: 'test/endless', messages, stream: true })
    await expect(
      (async () => {
        for await (const _ of stream) stream.abort()
      })(),
    ).rejects.toThrow(/abort/i)
    await until(
      async () => service.probe('test/endless'),
      ({ aborted, active }) => aborted === 1 && active === 0,
    )
  })

  test('reads errors', async () => {
    const wrong = (attempt: Promise<unknown>) =>
      attempt.catch((error: { status_code: number; message: string }) => error)
    expect(await wrong(client.chat({ model: 'no/such', messages }))).toMatchObject({
      ...{ name: 'ResponseError', status_code: 404, message: expect.stringContaining("'no/such' does not exist") },
    })
    expect(await wrong(client.delete({ model: 'test/hello' }))).toMatchObject({ status_code: 403 })
    expect(await wrong(client.copy({ source: 'test/hello', destination: 'x' }))).toMatchObject({ status_code: 404 })
    const late = client.chat({ model: 'test/error-late', messages, stream: true }).then(async (parts) => {
      for await (const _ of parts);
    })
    expect(await wrong(late)).toMatchObject({ message: 'The device was lost.' })
  })

  test('sends a key where it is told to', async () => {
    const keyed = await startService(script, { endpoints: [ollama()], keys: ['sk-own'] })
    try {
      const at = { host: keyed.baseURL.replace(/\/v1$/, '') }
      await expect(new Ollama(at).list()).rejects.toMatchObject({ status_code: 401 })
      const mine = new Ollama({ ...at, headers: { Authorization: 'Bearer sk-own' } })
      expect((await mine.chat({ model: 'test/hello', messages })).message.content).toBe(SAID)
    } finally {
      await keyed.close()
    }
  })

  test('finds it under the base path as well', async () => {
    const under = new Ollama({ host: service.baseURL })
    expect((await under.chat({ model: 'test/hello', messages })).message.content).toBe(SAID)
  })

  describe('what Open WebUI asks, one after the other', () => {
    const json = { 'content-type': 'application/json' }
    const get = async (path: string) => (await fetch(`${host}${path}`, { headers: json })).json()
    const post = (path: string, body: object) =>
      fetch(`${host}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) })

    test('verifies, lists, shows, chats and asks for a title', async () => {
      expect(await get('/api/version')).toHaveProperty('version')
      const { models } = await get('/api/tags')
      const { model } = models.find(({ name }: { name: string }) => name === 'test/hello:latest')
      expect((await get('/api/ps')).models).toEqual([])
      // It looks models up by their names with a tag.
      expect(model).toBe('test/hello:latest')
      expect(await (await post('/api/show', { model, name: model })).json()).toHaveProperty('capabilities')
      const options = { num_ctx: 2048, temperature: 0.7, stop: ['END'] }
      const request = { model, messages: [{ role: 'user', content: 'Hello?' }], options, stream: true }
      const streamed = await post('/api/chat', request)
      expect([streamed.status, streamed.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
      const lines = (await streamed.text()).trim().split('\n')
      const text = lines.map((line) => JSON.parse(line).message.content).join('')
      expect(text).toBe(SAID)
      const title = await post('/api/chat', { ...request, stream: false, keep_alive: '5m' })
      expect((await title.json()).message.content).toBe(SAID)
      const embedded = await post('/api/embed', { model: 'test/every:latest', input: ['a', 'b'] })
      expect((await embedded.json()).embeddings).toHaveLength(2)
    })
  })

  describe("Ollama's published examples", () => {
    /** `curl -d`, as docs/api.md writes every one of them. */
    const curl = (path: string, body: object) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const sent = request(`${host}${path}`, { method: 'POST', headers }, async (answer) => {
          let text = ''
          for await (const piece of answer.setEncoding('utf8')) text += piece
          resolve({ status: answer.statusCode!, text })
        })
        sent.once('error', reject).end(JSON.stringify(body))
      })
    const sky = [{ role: 'user', content: 'why is the sky blue?' }]
    const ages = {
      type: 'object',
      properties: { city: { type: 'string' }, tags: { type: 'array' } },
      required: ['city', 'tags'],
    }
    const everything = {
      ...{ num_keep: 5, seed: 42, num_predict: 100, top_k: 0, top_p: 0.9, min_p: 0, typical_p: 0.7 },
      ...{ repeat_last_n: 33, temperature: 0.8, repeat_penalty: 1, presence_penalty: 1.5, frequency_penalty: 1 },
      ...{ mirostat: 1, mirostat_tau: 0.8, mirostat_eta: 0.6, penalize_newline: true, stop: ['\n', 'user:'] },
      ...{ numa: false, num_ctx: 1024, num_batch: 2, num_gpu: 1, main_gpu: 0, low_vram: false, vocab_only: false },
      ...{ use_mmap: true, use_mlock: false, num_thread: 8 },
    }
    test.each([
      ['/api/generate', { model: 'test/hello', prompt: 'Why is the sky blue?' }],
      ['/api/generate', { model: 'test/hello', prompt: 'Why is the sky blue?', stream: false }],
      ['/api/generate', { model: 'test/json', prompt: 'Respond using JSON', stream: false, format: ages }],
      ['/api/generate', { model: 'test/json', prompt: 'Respond using JSON', format: 'json', stream: false }],
      [
        '/api/generate',
        { model: 'test/hello', prompt: '[INST] why is the sky blue? [/INST]', raw: true, stream: false },
      ],
      ['/api/generate', { model: 'test/hello', prompt: 'Why is the sky blue?', options: { seed: 123 } }],
      ['/api/generate', { model: 'test/drawn', prompt: 'Why is the sky blue?', stream: false, options: everything }],
      ['/api/generate', { model: 'test/hello' }],
      ['/api/chat', { model: 'test/hello', messages: sky }],
      ['/api/chat', { model: 'test/hello', messages: sky, stream: false }],
      ['/api/chat', { model: 'test/json', messages: sky, stream: false, format: ages, options: { temperature: 0 } }],
      [
        '/api/chat',
        {
          model: 'test/hello',
          messages: [...sky, { role: 'assistant', content: 'due to rayleigh scattering.' }, ...sky],
        },
      ],
      ['/api/chat', { model: 'test/hello', messages: sky, options: { seed: 101, temperature: 0 } }],
      ['/api/chat', { model: 'test/tools', messages: sky, stream: false, tools: [weather] }],
      ['/api/chat', { model: 'test/hello', messages: [] }],
      ['/api/show', { model: 'test/hello' }],
      ['/api/pull', { model: 'test/hello' }],
      ['/api/embed', { model: 'test/every', input: 'Why is the sky blue?' }],
      ['/api/embed', { model: 'test/every', input: ['Why is the sky blue?', 'Why is the grass green?'] }],
      ['/api/embeddings', { model: 'test/every', prompt: 'Here is an article about llamas...' }],
    ])('%s %j', async (path, body) => {
      const { status, text } = await curl(path, body)
      expect(status, text).toBe(200)
      const last = JSON.parse(text.trim().split('\n').at(-1)!)
      if (path === '/api/generate' || path === '/api/chat') expect(last).toMatchObject({ done: true })
      expect(last).not.toHaveProperty('error')
    })
  })
})
