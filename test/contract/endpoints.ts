import { expect, test } from 'vitest'
import type { EndpointEntry } from '../../src/service/answer/service.js'
import { messages } from '../../src/service/endpoints/messages/index.js'
import { ollama } from '../../src/service/endpoints/ollama/index.js'
import { judges, judgesAreHere } from '../../src/service/endpoints/responses/wire/judges.test-helper.js'
import { ENDPOINTS } from '../../src/service/endpoints.js'
import type { Answer, Init, Reach } from './reach.js'
import { authorized, expectCommonHeaders, expectError, valid } from './speak.js'

/** The service that has all there is. */
const EVERY = '/every/v1'
const MODEL = 'test/every'
const SAID = 'Hello, wörld 🌍'
const USER = [{ role: 'user', content: 'Hello?' }]

const judge = judgesAreHere ? judges() : undefined
const json = ({ text }: Pick<Answer, 'text'>) => JSON.parse(text)

/** Every endpoint that there is, asked once as it should be and once as it should not: it must be the same everywhere. */
export function endpointsContract(reach: () => Reach): void {
  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const sent: Init = {
      method,
      headers: { ...authorized, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    }
    return reach().fetch(EVERY + path, sent)
  }
  const good = async (method: string, path: string, body?: object) => {
    const answer = await ask(method, path, body)
    expect(answer.status, answer.text).toBe(200)
    expectCommonHeaders(answer)
    return answer
  }
  const post = async (path: string, body: object) => json(await good('POST', path, { model: MODEL, ...body }))
  const refused = async (path: string, body: object, param: string) =>
    expectError(await ask('POST', path, { model: MODEL, ...body }), {
      status: 400,
      type: 'invalid_request_error',
      param,
    })
  /** The events of a stream, by their names where they have some. */
  const events = async (path: string, body: object) => {
    const { text, headers } = await good('POST', path, { model: MODEL, stream: true, ...body })
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/)
    const frames = text.split('\n\n').filter(Boolean)
    return frames.map((frame) => frame.slice(frame.indexOf('data: ') + 'data: '.length))
  }
  const created = async () => {
    const response = await post('/responses', { input: 'Hello?', store: true })
    expect(judge?.response(response) ?? []).toEqual([])
    expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: SAID }] }] })
    return response as { id: string }
  }

  const extracts = async (path: string) => {
    const fields = { due: { type: 'date' } }
    const request = { model: 'test/fields', state: 'Please pay by next Tuesday.', reference_date: '2026-11-24', fields }
    const answer = { type: 'date', value: '2026-12-01', guess: '2026-12-01', span: [14, 26] }
    expect(await post(path, request)).toMatchObject({ object: 'extraction', answers: { due: answer } })
    await refused(path, { ...request, reference_date: 'tomorrow' }, 'reference_date')
  }

  const ollamaRefused = async (path: string, body: object, status: number, method = 'POST') => {
    const answer = await ask(method, path, { model: MODEL, ...body })
    expect([answer.status, json(answer)]).toEqual([status, { error: expect.any(String) }])
  }
  const ollamaLines = async (path: string, body: object) => {
    const { text, headers } = await good('POST', path, { model: MODEL, ...body })
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  const conversation = async () =>
    (await post('/conversations', { items: [{ id: 'msg_0', role: 'user', content: 'Hello?' }] })) as { id: string }

  const rows: Readonly<Record<string, () => Promise<void>>> = {
    'POST /chat/completions': async () => {
      const answer = valid('CreateChatCompletionResponse', await post('/chat/completions', { messages: USER }))
      expect(answer).toMatchObject({ choices: [{ message: { content: SAID } }] })
      await refused('/chat/completions', { messages: 5 }, 'messages')
    },
    'POST /responses': async () => {
      const { id } = await created()
      const next = await post('/responses', { input: 'And?', previous_response_id: id })
      expect(next).toMatchObject({ previous_response_id: id, usage: { input_tokens: 12, output_tokens: 3 } })
      const frames = await events('/responses', { input: 'Hello?' })
      expect(frames.pop()).toBe('[DONE]')
      const all = frames.map((event) => JSON.parse(event))
      for (const event of all) expect(judge?.event(event) ?? []).toEqual([])
      expect(all.map(({ sequence_number: at }) => at)).toEqual(all.map((_, i) => i))
      expect([all[0].type, all.at(-1).type]).toEqual(['response.created', 'response.completed'])
      await refused('/responses', { input: 'Hello?', previous_response_id: 'resp_0' }, 'previous_response_id')
    },
    'GET /responses/{id}': async () => {
      const { id } = await created()
      expect(json(await good('GET', `/responses/${id}`))).toMatchObject({ id, output: [{ content: [{ text: SAID }] }] })
      expectError(await ask('GET', '/responses/resp_0'), { status: 404, type: 'not_found_error' })
    },
    'GET /responses/{id}/input_items': async () => {
      const { id } = await created()
      const { data } = json(await good('GET', `/responses/${id}/input_items`))
      expect(data).toMatchObject([{ role: 'user', content: [{ text: 'Hello?' }] }])
    },
    'DELETE /responses/{id}': async () => {
      const { id } = await created()
      expect(json(await good('DELETE', `/responses/${id}`))).toMatchObject({ id, deleted: true })
      expectError(await ask('GET', `/responses/${id}`), { status: 404, type: 'not_found_error' })
    },
    'POST /responses/{id}/cancel': async () => {
      const { id } = await post('/responses', { model: 'test/endless', input: 'Hello?', background: true })
      const cancelled = json(await good('POST', `/responses/${id}/cancel`))
      expect(judge?.response(cancelled) ?? []).toEqual([])
      expect(cancelled).toMatchObject({ id, status: 'cancelled' })
    },
    'POST /responses/compact': async () => {
      const compaction = await post('/responses/compact', { input: [...USER, { role: 'user', content: 'And?' }] })
      expect(judge?.compaction(compaction) ?? []).toEqual([])
      expect(compaction.output.map(({ type }: { type: string }) => type)).toContain('compaction')
      await refused('/responses/compact', { input: 5 }, 'input')
    },
    'POST /responses/input_tokens': async () => {
      const counted = await post('/responses/input_tokens', { input: 'Hello?' })
      expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: 'Hello?'.length })
      await refused('/responses/input_tokens', { input: 5 }, 'input')
    },
    'POST /conversations': async () => {
      const { id } = await conversation()
      const response = await post('/responses', { input: 'And?', conversation: id })
      expect(judge?.response(response) ?? []).toEqual([])
      expect(response).toMatchObject({ conversation: { id }, output: [{ content: [{ text: SAID }] }] })
      expect(json(await good('GET', `/conversations/${id}/items`)).data).toHaveLength(3)
      await refused('/conversations', { items: 5 }, 'items')
    },
    'GET /conversations/{id}': async () => {
      const { id } = await conversation()
      expect(json(await good('GET', `/conversations/${id}`))).toMatchObject({ id, object: 'conversation' })
      expectError(await ask('GET', '/conversations/conv_0'), { status: 404, type: 'not_found_error' })
    },
    'POST /conversations/{id}': async () => {
      const { id } = await conversation()
      expect(await post(`/conversations/${id}`, { metadata: { a: 'b' } })).toMatchObject({ id, metadata: { a: 'b' } })
      await refused(`/conversations/${id}`, { metadata: 5 }, 'metadata')
    },
    'DELETE /conversations/{id}': async () => {
      const { id } = await conversation()
      expect(json(await good('DELETE', `/conversations/${id}`))).toMatchObject({ id, deleted: true })
      expectError(await ask('GET', `/conversations/${id}`), { status: 404, type: 'not_found_error' })
    },
    'GET /conversations/{id}/items': async () => {
      const { id } = await conversation()
      const { data } = json(await good('GET', `/conversations/${id}/items`))
      expect(data).toMatchObject([{ id: 'msg_0', content: [{ text: 'Hello?' }] }])
    },
    'POST /conversations/{id}/items': async () => {
      const { id } = await conversation()
      const { data } = await post(`/conversations/${id}/items`, { items: [{ role: 'user', content: 'And?' }] })
      expect(data).toMatchObject([{ type: 'message', content: [{ text: 'And?' }] }])
      await refused(`/conversations/${id}/items`, { items: [] }, 'items')
    },
    'GET /conversations/{id}/items/{item}': async () => {
      const { id } = await conversation()
      expect(json(await good('GET', `/conversations/${id}/items/msg_0`))).toMatchObject({ id: 'msg_0', role: 'user' })
      expectError(await ask('GET', `/conversations/${id}/items/msg_1`), { status: 404, type: 'not_found_error' })
    },
    'DELETE /conversations/{id}/items/{item}': async () => {
      const { id } = await conversation()
      expect(json(await good('DELETE', `/conversations/${id}/items/msg_0`))).toMatchObject({ id })
      expect(json(await good('GET', `/conversations/${id}/items`)).data).toEqual([])
    },
    'POST /completions': async () => {
      const answer = await post('/completions', { prompt: 'So: ', echo: true, n: 1 })
      expect(answer).toMatchObject({ object: 'text_completion', choices: [{ text: `So: ${SAID}` }] })
      const frames = await events('/completions', { prompt: 'So: ' })
      expect(frames.pop()).toBe('[DONE]')
      expect(frames.map((event) => JSON.parse(event).choices[0].text).join('')).toBe(SAID)
      await refused('/completions', { prompt: [] }, 'prompt')
    },
    'POST /infill': async () => {
      const gap = { input_prefix: 'So: ', input_suffix: '' }
      expect(await post('/infill', gap)).toMatchObject({ content: SAID, stop: true, tokens_predicted: 3 })
      const frames = (await events('/infill', gap)).map((event) => JSON.parse(event))
      expect(frames.map(({ content }) => content).join('')).toBe(SAID)
      await refused('/infill', { ...gap, input_suffix: 5 }, 'input_suffix')
    },
    'POST /embeddings': async () => {
      const plain = await post('/embeddings', { input: ['ab', 'c'], dimensions: 4 })
      expect(valid('CreateEmbeddingResponse', plain)).toMatchObject({
        data: [{ embedding: [2, 97, 0, 0] }, { embedding: [1, 99, 0, 0] }],
        usage: { prompt_tokens: 3 },
      })
      const packed = await post('/embeddings', { input: [[5, 6]], encoding_format: 'base64', dimensions: 2 })
      const bytes = Uint8Array.from(atob(packed.data[0].embedding), (letter) => letter.charCodeAt(0))
      expect([...new Float32Array(bytes.buffer)]).toEqual([2, 5])
      await refused('/embeddings', { input: [] }, 'input')
    },
    'POST /rerank': async () => {
      const { results } = await post('/rerank', { query: 'b', documents: ['a', 'ab', 'bbb'], top_n: 2 })
      expect(results).toMatchObject([{ index: 2 }, { index: 1 }])
      await refused('/rerank', { query: 'b', documents: [] }, 'documents')
    },
    'POST /v2/rerank': async () => {
      const { results } = await post('/v2/rerank', { query: 'b', documents: ['a', 'ab', 'bbb'], top_n: 2 })
      expect(results).toMatchObject([{ index: 2 }, { index: 1 }])
      await refused('/v2/rerank', { query: 'b', documents: [] }, 'documents')
    },
    'POST /score': async () => {
      const { object, data } = await post('/score', { text_1: 'b', text_2: ['a', 'bbb', 'ab'] })
      expect([object, data.map(({ index }: { index: number }) => index)]).toEqual(['list', [0, 1, 2]])
      expect(data[1].score).toBeGreaterThan(data[0].score)
      await refused('/score', { text_1: ['a', 'b'], text_2: ['a', 'b', 'c'] }, 'text_2')
    },
    'POST /classify': async () => {
      const { object, data, usage } = await post('/classify', { input: ['aaab', 'bbbb'] })
      expect([object, usage.prompt_tokens]).toEqual(['list', 8])
      expect(data).toEqual([
        { index: 0, label: 'a', probs: [0.75, 0.25], num_classes: 2 },
        { index: 1, label: 'other', probs: [0, 1], num_classes: 2 },
      ])
      await refused('/classify', { input: [] }, 'input')
    },
    'POST /pooling': async () => {
      const { data } = await post('/pooling', { input: 'ab', dimensions: 3 })
      expect(data).toEqual([{ index: 0, object: 'pooling', data: [2, 97, 0] }])
      const classes = await post('/pooling', { input: 'ab', task: 'classify' })
      expect(classes.data[0].data).toEqual([0.5, 0.5])
      await refused('/pooling', { input: 'ab', task: 'token_embed' }, 'task')
    },
    'POST /decisions': async () => {
      const choice = { type: 'choice', instructions: 'Which?', choices: [{ value: 'a' }, { value: false }] }
      const { answers } = await post('/decisions', { input: 'b', questions: [choice] })
      expect(answers).toMatchObject([
        { type: 'choice', name: null, choice: 'a', probabilities: [{}, { value: false }] },
      ])
      const predicate = { type: 'predicate', name: 'wet', instructions: 'It rains.' }
      const levels = ['low', 'high'].map((label) => ({ label }))
      const most = Array.from({ length: 398 }, () => choice)
      const all = await post('/decisions', {
        input: [{ role: 'user', content: SAID }],
        questions: [predicate, { type: 'score', instructions: 'How?', levels }, ...most],
      })
      expect(all.answers).toHaveLength(400)
      expect(all.answers.slice(0, 2)).toEqual([
        { type: 'predicate', name: 'wet', probability: 0.5 },
        {
          ...{ type: 'score', name: null, score: 0.5, confidence: 0 },
          probabilities: levels.map(({ label }, value) => ({ label, value, probability: 0.5 })),
        },
      ])
      const { usage } = all
      expect(usage).toMatchObject({ output_tokens: 0, total_tokens: usage.input_tokens })
      await refused('/decisions', { input: 'b', questions: [] }, 'questions')
      await refused('/decisions', { input: 'b', questions: [...most, choice, choice, choice] }, 'questions')
      const alike = { ...choice, choices: [{ value: 'a' }, { value: 'a' }] }
      await refused('/decisions', { input: 'b', questions: [alike] }, 'questions[0].choices[1].value')
      const output = { type: 'function_call_output', call_id: 'c', output: 'x' }
      await refused('/decisions', { input: [output], questions: [choice] }, 'input[0].call_id')
    },
    'POST /api/alpha/decisions': async () => {
      const { answers } = await post('/api/alpha/decisions', { state: 'b', questions: { so: { type: 'noul' } } })
      expect(answers).toEqual({ so: { type: 'noul', noul: 0.5 } })
      await refused('/api/alpha/decisions', { state: 'b', questions: {} }, 'questions')
    },
    'POST /systemone': async () => {
      const { answers } = await post('/systemone', { state: ['b'], questions: { so: { type: 'noul' } } })
      expect(answers).toEqual({ so: { type: 'noul', noul: 0.5 } })
      const criteria = { a: SAID, b: null }
      const named = { which: { type: 'choice', criteria }, much: { type: 'score', criteria: ['low', { x: 1 }] } }
      expect((await post('/systemone', { state: null, questions: named })).answers).toEqual({
        which: { type: 'choice', choice: 'a', probabilities: { a: 0.5, b: 0.5 }, confidence: 0 },
        much: {
          ...{ type: 'score', score: 0.5, legend: { 0: 'low', 1: { x: 1 } }, confidence: 0 },
          probabilities: { 0: 0.5, 1: 0.5 },
        },
      })
      await refused('/systemone', { state: 'b', questions: {} }, 'questions')
      await refused('/systemone', { state: 'b', questions: { '': { type: 'noul' } } }, 'questions')
    },
    'POST /extractions': () => extracts('/extractions'),
    'POST /extraction': () => extracts('/extraction'),
    'POST /api/alpha/extractions': () => extracts('/api/alpha/extractions'),
    'POST /tokenize': async () => {
      expect(await post('/tokenize', { prompt: 'ab', return_token_strs: true })).toMatchObject({
        ...{ count: 2, tokens: [97, 98], token_strs: ['a', 'b'] },
      })
      await refused('/tokenize', { prompt: 5 }, 'prompt')
    },
    'POST /detokenize': async () => {
      expect(await post('/detokenize', { tokens: [97, 98] })).toEqual({ prompt: 'ab' })
      await refused('/detokenize', { tokens: 'ab' }, 'tokens')
    },
    'GET /tokenizer_info': async () => {
      const info = json(await good('GET', `/tokenizer_info?model=${MODEL}`))
      expect(info).toEqual({ tokenizer_class: 'ByteTokenizer' })
      const unnamed = await ask('GET', '/tokenizer_info')
      expectError(unnamed, { status: 400, type: 'invalid_request_error', param: 'model' })
    },
    'GET /models': async () => {
      const { data } = json(await good('GET', '/models'))
      expect(data.map(({ id }: { id: string }) => id)).toContain(MODEL)
      expectError(await ask('GET', '/models', undefined, { authorization: 'Bearer nobody' }), {
        status: 401,
        type: 'authentication_error',
      })
    },
    'GET /models/{model}': async () => {
      for (const name of [MODEL, 'every', 'alias']) {
        expect(json(await good('GET', `/models/${name}`))).toMatchObject({ id: MODEL, capabilities: { rerank: true } })
      }
    },
    'POST /models/{model}/load': async () => {
      const { text } = await good('POST', `/models/${MODEL}/load`)
      expect(text).toMatch(/^data: \{"object":"model.load",.*"phase":"ready".*\}\n\ndata: \[DONE\]\n\n$/)
    },
    'POST /models/{model}/unload': async () => {
      expect(json(await good('POST', `/models/${MODEL}/unload`))).toMatchObject({ id: MODEL })
      const answer = await ask('POST', `/models/${MODEL}/unload`, undefined, { authorization: 'Bearer sk-other' })
      expectError(answer, { status: 403, type: 'permission_error' })
    },
    'DELETE /models/{model}': async () => {
      expect(json(await good('DELETE', `/models/${MODEL}`))).toEqual({ id: MODEL, object: 'model', deleted: true })
    },
    'GET /organization/usage/completions': async () => {
      valid('UsageResponse', json(await good('GET', '/organization/usage/completions?start_time=0')))
    },
    'GET /metrics': async () => {
      await post('/chat/completions', { messages: USER })
      const { text, headers } = await good('GET', '/metrics')
      expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
      expect(text).toMatch(/\{endpoint="\/chat\/completions",status="200"\} [1-9]/)
    },
    'GET /health': async () => {
      const answer = await reach().fetch(`${EVERY}/health`)
      expect([answer.status, json(answer)]).toEqual([200, { status: 'ok' }])
    },
    'GET /ping': async () => {
      const answer = await reach().fetch(`${EVERY}/ping`)
      expect([answer.status, json(answer)]).toEqual([200, { status: 'ok' }])
    },
    'GET /load': async () => {
      expect(json(await good('GET', '/load')).server_load).toBeGreaterThanOrEqual(0)
    },
    'GET /version': async () => {
      const answer = await reach().fetch(`${EVERY}/version`)
      expect([answer.status, json(answer)]).toEqual([200, { version: expect.any(String) }])
    },
    'POST /messages': async () => {
      const request = { messages: USER, max_tokens: 99 }
      expect(await post('/messages', request)).toMatchObject({
        type: 'message',
        content: [{ type: 'text', text: SAID }],
      })
      const types = (await events('/messages', request)).map((event) => JSON.parse(event).type)
      expect([types[0], types.at(-1)]).toEqual(['message_start', 'message_stop'])
      const wrong = await ask('POST', '/messages', { model: MODEL, messages: 5, max_tokens: 9 })
      expect([wrong.status, json(wrong)]).toMatchObject([
        400,
        { type: 'error', error: { type: 'invalid_request_error' } },
      ])
    },
    'POST /messages/count_tokens': async () => {
      expect(await post('/messages/count_tokens', { messages: USER })).toEqual({ input_tokens: 'Hello?'.length })
    },
    'GET ': async () => {
      const answer = await reach().fetch(EVERY)
      expect([answer.status, answer.text]).toEqual([200, 'Ollama is running'])
    },
    'GET /api/version': async () => {
      expect(json(await reach().fetch(`${EVERY}/api/version`))).toEqual({ version: expect.any(String) })
    },
    'GET /api/tags': async () => {
      const { models } = json(await good('GET', '/api/tags'))
      expect(models.map(({ model }: { model: string }) => model)).toContain(`${MODEL}:latest`)
    },
    'GET /api/ps': async () => {
      expect(json(await good('GET', '/api/ps'))).toEqual({ models: [] })
    },
    'POST /api/show': async () => {
      expect(await post('/api/show', {})).toMatchObject({ capabilities: expect.arrayContaining(['embedding']) })
      await ollamaRefused('/api/show', { model: 'no/such' }, 404)
    },
    'POST /api/chat': async () => {
      const request = { messages: USER, stream: false }
      expect(await post('/api/chat', request)).toMatchObject({ message: { content: SAID }, done: true })
      const lines = await ollamaLines('/api/chat', { messages: USER })
      expect(lines.map(({ message }) => message.content).join('')).toBe(SAID)
      await ollamaRefused('/api/chat', { messages: 5 }, 400)
    },
    'POST /api/generate': async () => {
      expect(await post('/api/generate', { prompt: 'Hello?', stream: false })).toMatchObject({ response: SAID })
      const lines = await ollamaLines('/api/generate', { prompt: 'Hello?' })
      expect(lines.map(({ response }) => response).join('')).toBe(SAID)
      await ollamaRefused('/api/generate', { prompt: 'Hello?', template: 'x' }, 400)
    },
    'POST /api/embed': async () => {
      expect((await post('/api/embed', { input: ['a', 'b'] })).embeddings).toHaveLength(2)
      await ollamaRefused('/api/embed', {}, 400)
    },
    'POST /api/embeddings': async () => {
      expect((await post('/api/embeddings', { prompt: 'a' })).embedding.length).toBeGreaterThan(0)
      await ollamaRefused('/api/embeddings', { prompt: 5 }, 400)
    },
    'POST /api/pull': async () => {
      expect(await post('/api/pull', { stream: false })).toEqual({ status: 'success' })
      const lines = await ollamaLines('/api/pull', {})
      expect(lines.at(-1)).toEqual({ status: 'success' })
    },
    'DELETE /api/delete': async () => {
      expect(json(await good('DELETE', '/api/delete', { model: MODEL }))).toEqual({ status: 'success' })
      await ollamaRefused('/api/delete', { model: 'no/such' }, 404, 'DELETE')
    },
    'POST /api/create': () => ollamaRefused('/api/create', {}, 404),
    'POST /api/copy': () => ollamaRefused('/api/copy', {}, 404),
    'POST /api/push': () => ollamaRefused('/api/push', {}, 404),
  }

  test('each has a row here', () => {
    const all = [...ENDPOINTS, ...([...messages().endpoints, ...ollama().endpoints] as readonly EndpointEntry[])]
    expect(Object.keys(rows).sort()).toEqual(all.map(({ method, path }) => `${method} ${path}`).sort())
  })

  test.each(Object.keys(rows))('%s', (name) => rows[name]!())
}
