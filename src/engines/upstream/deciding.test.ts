import { describe, expect, it } from 'vitest'
import { createV1 } from '../../service/v1.js'
import { errorOf, jsonOf, posting, serviceOf } from '../../service/v1.test-helper.js'
import { promptApi } from '../prompt-api/index.js'
import { standIn } from '../prompt-api/stand-in.test-helper.js'
import { scripted } from '../scripted.js'
import { type DecisionsForm, fallback, upstream } from '../upstream.js'

type Send = (url: string, init: RequestInit) => Promise<Response>
const MODEL = 'test/decides'

/** Our own service over another, which is asked by `send`. */
function passing(send: Send, decisions?: DecisionsForm) {
  const capabilities = { decisions: true, images: true }
  const { ask } = serviceOf(
    upstream({ baseURL: 'http://localhost/v1', models: [MODEL], capabilities, decisions, fetch: send }),
  )
  const post = (path: string) => (body: object) => ask(path, posting({ model: MODEL, ...body }))
  return { decisions: post('/decisions'), systemOne: post('/systemone') }
}

/** Another service of ours, whose paths can be taken away, and what came to them. */
function behind(lacking: readonly string[] = []) {
  const engine = scripted({
    models: { [MODEL]: 'Hi' },
    capabilities: { decisions: true, images: true },
    decide: ({ instructions, options }) => (instructions === 'Refuse.' ? undefined : options.map((_, i) => 2 ** i)),
  })
  const v1 = createV1({ engine, keys: 'none', log: () => {} })
  const paths: string[] = []
  const bodies: Record<string, unknown>[] = []
  const send: Send = async (url, init) => {
    const path = new URL(url).pathname.replace('/v1', '')
    paths.push(path)
    bodies.push(JSON.parse(String(init.body)))
    if (lacking.includes(path)) return Response.json({ detail: 'Not Found' }, { status: 404 })
    return v1.fetch(new Request(url, init))
  }
  return { send, paths, bodies }
}

const predicate = { type: 'predicate', instructions: 'It is spam.' }
const choice = (...values: unknown[]) => ({
  type: 'choice',
  instructions: 'Who?',
  choices: values.map((value) => ({ value })),
})
const score = { type: 'score', instructions: 'How?', levels: [{ label: 'bad', description: 'low' }, { label: 'good' }] }
const QUESTIONS = [predicate, choice('a', true), score, { ...predicate, instructions: 'Refuse.' }]

describe('decisions of another service by /systemone', () => {
  it('are the same as by /decisions, in either form of our own', async () => {
    const { send, paths, bodies } = behind()
    const [one, other] = [passing(send, 'openai'), passing(send, 'systemone')]
    for (let twice = 0; twice < 2; twice++) {
      const direct = jsonOf(await one.decisions({ input: 'Help!', questions: QUESTIONS }))
      const passed = jsonOf(await other.decisions({ input: 'Help!', questions: QUESTIONS }))
      expect(passed.answers).toEqual(direct.answers)
      expect(passed.usage.input_tokens).toBeGreaterThan(0)
      const named = { spam: { type: 'noul' }, '0': { type: 'choice', criteria: { b: 'x', a: null } } }
      const request = { state: { a: 1 }, questions: named }
      expect(jsonOf(await other.systemOne(request)).answers).toEqual(jsonOf(await one.systemOne(request)).answers)
    }
    expect(paths.slice(0, 4)).toEqual(['/decisions', '/systemone', '/systemone', '/decisions'])
    expect(bodies[1]).toEqual({
      model: MODEL,
      state: 'Help!',
      questions: {
        q0: { type: 'noul', instructions: 'It is spam.', criteria: null },
        q1: { type: 'choice', instructions: 'Who?', criteria: { a: null, true: null } },
        q2: { type: 'score', instructions: 'How?', criteria: ['bad: low', 'good'] },
        q3: { type: 'noul', instructions: 'Refuse.', criteria: null },
      },
    })
    expect(bodies[2]!.questions).toMatchObject({ q0: { criteria: { a: null, b: 'x' } }, q1: { type: 'noul' } })
  })

  it('carry conversations as one text, images beside it, and what is ours where it is asked for', async () => {
    const { send, bodies } = behind()
    const content = [
      { type: 'input_text', text: 'See:' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
    ]
    const input = [
      { role: 'user', content },
      { role: 'assistant', content: 'I do.' },
    ]
    const { decisions } = passing(send, 'systemone')
    const more = { order: 'average', reasoning: { effort: 'low' } }
    expect((await decisions({ input, questions: [predicate], ...more })).status).toBe(200)
    expect(bodies[0]).toMatchObject({ state: 'user: See:\n\nassistant: I do.', images: ['AA=='], ...more })
    const linked = [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] }]
    expect(errorOf(await decisions({ input: linked, questions: [predicate] })).param).toBe('input')
    const seen = { ...predicate, instructions: content }
    expect(errorOf(await decisions({ input: 'x', questions: [seen] })).param).toBe('questions')
    const levels = Array.from({ length: 11 }, (_, i) => ({ label: `l${i}` }))
    expect(errorOf(await decisions({ input: 'x', questions: [{ ...score, levels }] })).message).toContain('10 levels')
    expect(bodies).toHaveLength(1)
  })

  it('are no answers where something is missing', async () => {
    for (const answers of [
      undefined,
      [],
      {},
      { q0: {} },
      { q0: { type: 'noul' } },
      { q0: { type: 'noul', noul: 2 } },
    ]) {
      const { decisions } = passing(async () => Response.json({ answers }), 'systemone')
      expect(errorOf(await decisions({ input: 'x', questions: [predicate] })).code).toBe('upstream_error')
    }
    const { decisions } = passing(
      async () => Response.json({ answers: { q0: { type: 'noul', noul: 0.5 } } }),
      'systemone',
    )
    const calibrated = await decisions({ input: 'x', questions: [predicate], calibrated: true })
    expect(errorOf(calibrated).param).toBe('calibrated')
  })
})

describe('what another service has', () => {
  it('is found out once', async () => {
    for (const lacking of [[], ['/decisions']]) {
      const { send, paths } = behind(lacking)
      const { decisions } = passing(send)
      for (let i = 0; i < 3; i++) expect((await decisions({ input: 'x', questions: [predicate] })).status).toBe(200)
      const used = lacking.length === 0 ? '/decisions' : '/systemone'
      expect(paths).toEqual([...lacking, used, used, used])
    }
  })

  it('is asked for no other way where it refuses what was asked', async () => {
    const { send, paths } = behind()
    const refusing: Send = async (url, init) => {
      await send(url, init)
      return Response.json({ error: { message: 'Too long.', param: 'input' } }, { status: 400 })
    }
    expect(errorOf(await passing(refusing).decisions({ input: 'x', questions: [predicate] })).message).toBe('Too long.')
    expect(paths).toEqual(['/decisions'])
  })

  it('is told where a form that was named is not there', async () => {
    for (const [form, path] of [
      ['openai', '/decisions'],
      ['systemone', '/systemone'],
    ] as const) {
      const { decisions } = passing(behind([path]).send, form)
      const error = errorOf(await decisions({ input: 'x', questions: [predicate] }))
      expect(error).toMatchObject({ param: 'model', code: 'unsupported_model' })
      expect(error.message).toContain(`has no ${path}`)
    }
  })

  it('is not asked what has one answer alone', async () => {
    const { send, paths, bodies } = behind()
    const { systemOne } = passing(send)
    const certain = { type: 'choice', criteria: { only: null } }
    const { answers } = jsonOf(
      await systemOne({ state: 'x', questions: { a: certain, b: { type: 'noul' }, c: certain } }),
    )
    expect(answers).toMatchObject({ a: { choice: 'only', confidence: 1 }, b: { noul: 1 / 3 }, c: { choice: 'only' } })
    expect(bodies[0]!.questions).toHaveLength(1)
    expect((await systemOne({ state: 'x', questions: { a: certain } })).status).toBe(200)
    expect(paths).toHaveLength(1)
  })
})

describe('decisions read from chat', () => {
  /** A service whose chat tells these tokens and their probabilities. */
  const saying = (probabilities: Readonly<Record<string, number>>, message: object = { content: 'x' }) => {
    const bodies: Record<string, unknown>[] = []
    const top = Object.entries(probabilities).map(([token, likely]) => ({
      token,
      logprob: Math.log(likely),
      bytes: null,
    }))
    const content = top.length > 0 ? [{ ...top[0], top_logprobs: top }] : undefined
    const usage = { prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 3 } }
    const { decisions } = passing(async (url, init) => {
      if (!url.endsWith('/chat/completions')) return new Response('', { status: 404 })
      bodies.push(JSON.parse(String(init.body)))
      return Response.json({ choices: [{ message, ...(content && { logprobs: { content } }) }], usage })
    })
    return { bodies, ask: (...questions: object[]) => decisions({ input: 'Rain.', questions }) }
  }
  const likelyOf = (answer: { readonly probabilities: readonly { readonly probability: number }[] }) =>
    answer.probabilities.map(({ probability }) => probability)

  it('are the shares of first tokens, a request a question', async () => {
    const { ask, bodies } = saying({ a: 0.5, Yes: 0.25, tru: 0.125, t: 0.1, No: 1 / 128, x: 1e-9 })
    const { answers, usage } = jsonOf(await ask(predicate, choice('a', true)))
    expect(answers[0].probability).toBeCloseTo(32 / 33, 12)
    expect(answers[0].option_mass).toBeCloseTo(33 / 128, 12)
    expect(likelyOf(answers[1])).toEqual([expect.closeTo(0.8, 12), expect.closeTo(0.2, 12)])
    expect(usage).toMatchObject({ input_tokens: 14, output_tokens: 2, input_tokens_details: { cached_tokens: 6 } })
    expect(bodies).toMatchObject([
      { model: MODEL, max_tokens: 1, temperature: 0, logprobs: true, top_logprobs: 20 },
      { messages: [{ role: 'system' }, { content: expect.stringContaining('State:\nRain.\n\nQuestion: Who?') }] },
    ])
  })

  it('give letters to options whose first tokens may be the same, in every order', async () => {
    const { ask, bodies } = saying({ ' A': 0.6, ' B': 0.2, ' ': 0.1 })
    const { answers } = jsonOf(await ask(choice('billing', 'bugs')))
    expect(likelyOf(answers[0])).toEqual([expect.closeTo(0.75, 12), expect.closeTo(0.25, 12)])
    expect(JSON.stringify(bodies[0])).toContain('- A: billing\\n- B: bugs\\n')
    const average = saying({ A: 0.6, B: 0.2 })
    const { decisions } = passing(async (url, init) => {
      average.bodies.push(JSON.parse(String(init.body)))
      expect(url).toMatch(/chat\/completions$/)
      const top = [
        { token: 'A', logprob: Math.log(0.6) },
        { token: 'B', logprob: Math.log(0.2) },
      ]
      return Response.json({ choices: [{ logprobs: { content: [{ ...top[0], top_logprobs: top }] } }] })
    }, 'chat')
    const request = { input: 'x', questions: [choice('bugs', 'billing')], order: 'average' }
    expect(likelyOf(jsonOf(await decisions(request)).answers[0])).toEqual([
      expect.closeTo(0.5, 12),
      expect.closeTo(0.5, 12),
    ])
    expect(average.bodies).toHaveLength(2)
  })

  it('are refused where they cannot be read', async () => {
    const many = choice(...Array.from({ length: 21 }, (_, i) => `${i} of them`))
    for (const [{ ask }, question, why] of [
      [saying({ a: 1 }), many, 'at most 20 tokens'],
      [saying({}), predicate, 'no log probabilities'],
      [saying({ Yes: 1 }, { reasoning_content: 'Hm' }), predicate, 'begins with thinking'],
      [saying({ Maybe: 0.9 }), predicate, 'not those of the options'],
      // "No" may be as likely as what is told last.
      [saying({ Yes: 0.5, Hm: 0.3 }), predicate, 'not those of the options'],
    ] as const) {
      const error = errorOf(await ask(question))
      expect(error).toMatchObject({ status: 400, message: expect.stringContaining(why) })
    }
  })
})

describe('behind an engine that cannot decide', () => {
  it('decides what the second can, under the name that both have', async () => {
    const id = 'chrome/gemini-nano'
    const { api, seen } = standIn(['Hello'])
    const decides = scripted({
      models: { [id]: 'cluster' },
      capabilities: { decisions: true },
      decide: ({ options }) => options.map(() => 1),
    })
    const engine = fallback(promptApi({ id, languageModel: api }), decides)
    const { ask, chat } = serviceOf(engine)
    const post = (path: string, body: object) => ask(path, posting({ model: id, ...body }))
    for (let twice = 0; twice < 2; twice++) {
      const { answers } = jsonOf(await post('/decisions', { input: 'x', questions: [predicate] }))
      expect(answers).toEqual([{ type: 'predicate', name: null, probability: 0.5 }])
      expect(jsonOf(await chat({ model: id })).choices[0].message.content).toBe('Hello')
    }
    expect((await post('/systemone', { state: 'x', questions: { so: { type: 'noul' } } })).status).toBe(200)
    expect(jsonOf(await ask('/models')).data[0].capabilities).toMatchObject({ decisions: true, logprobs: false })
    // One of the two alone, and it cannot.
    const alone = serviceOf(
      fallback(promptApi({ id, languageModel: api }), scripted({ models: { 'test/other': 'x' } })),
    )
    const body = JSON.stringify({ model: id, input: 'x', questions: [predicate] })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    expect(errorOf(await alone.ask('/decisions', init))).toMatchObject({ param: 'model', code: 'unsupported_model' })
    expect(seen.sessions).toHaveLength(2)
  })
})
