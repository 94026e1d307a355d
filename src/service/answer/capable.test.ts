import { describe, expect, it } from 'vitest'
import type { Capabilities } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import { createV1 } from '../v1.js'
import { chunksOf, errorOf, finish, jsonOf, MODEL, posting, recorded, serviceOf, text } from '../v1.test-helper.js'
import type { CallSpec } from '../wire/reply.js'
import { checkCapable } from './capable.js'

const tool = { type: 'function', function: { name: 'f' } }
const format = (type: string) => ({ type, json_schema: { name: 'a', schema: { type: 'object' } } })
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } }
const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }
const requestWith = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const words = { type: 'text', text: 'What is this?' }

function serviceThat(capabilities: Capabilities | undefined) {
  const { calls, script } = recorded([text('{}'), finish()])
  const models = { [MODEL]: script }
  return { calls, ...serviceOf(scripted({ models, ...(capabilities && { capabilities }) })) }
}

const quoting = { type: 'object', properties: { a: { type: 'string', 'x-quote': true } } }

/** What asks for each of them, and the field that an error must name. */
const ASKED: readonly [keyof Capabilities, object, string][] = [
  ['chat', {}, 'model'],
  ['logprobs', { logprobs: true }, 'logprobs'],
  ['seed', { seed: 7 }, 'seed'],
  ['tools', { tools: [tool] }, 'tools'],
  ['tools', { tools: [tool], tool_choice: 'required' }, 'tools'],
  ['grammar', { response_format: format('json_object') }, 'response_format'],
  ['grammar', { response_format: format('json_schema') }, 'response_format'],
  ['otherGrammars', { guided_choice: ['{}'] }, 'guided_choice'],
  ['otherGrammars', { structured_outputs: { choice: ['{}'] } }, 'structured_outputs.choice'],
  ['images', requestWith(words, image), 'messages[0].content[1].type'],
  ['audio', requestWith(audio), 'messages[0].content[0].type'],
  ['sampling', { top_k: 5 }, 'top_k'],
  ['sampling', { min_p: 0.1 }, 'min_p'],
  ['sampling', { repetition_penalty: 1.1 }, 'repetition_penalty'],
  ['sampling', { dry_multiplier: 0.8 }, 'dry_multiplier'],
  ['sampling', { min_tokens: 5 }, 'min_tokens'],
  ['sampling', { stop_token_ids: [5] }, 'stop_token_ids'],
  ['sampling', { ignore_eos: true }, 'ignore_eos'],
  ['tokens', { return_token_ids: true }, 'return_token_ids'],
  ['tokens', { logprobs: true, return_tokens_as_token_ids: true }, 'return_tokens_as_token_ids'],
  [
    'quotes',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: quoting } } },
    'response_format',
  ],
  ['quotes', { response_format: format('json_schema'), quote: true }, 'quote'],
  [
    'quotes',
    { tools: [tool, { type: 'function', function: { name: 'g', parameters: quoting } }] },
    'tools[1].function.parameters',
  ],
  ['evidence', { response_format: format('json_object'), evidence: true }, 'evidence'],
]
/** What only shapes an answer, and its field. */
const HINTS: readonly [object, string][] = [
  [{ reasoning_effort: 'high' }, 'reasoning_effort'],
  [{ reasoning: { effort: 'high' } }, 'reasoning.effort'],
  [{ chat_template_kwargs: { enable_thinking: true } }, 'chat_template_kwargs.enable_thinking'],
  [{ thinking_budget: 50 }, 'thinking_budget'],
  [{ thinking: { type: 'enabled' } }, 'thinking'],
]
/** What nobody has who does not say so. */
const MEDIA: readonly string[] = ['images', 'audio']
const RARE: readonly string[] = [...MEDIA, 'sampling', 'tokens', 'quotes', 'evidence']

describe('what a model says it cannot do', () => {
  it.each(ASKED)(
    'is refused with an error that names its field, before the engine is asked: %s %j',
    async (name, body, param) => {
      const { chat, calls } = serviceThat({ [name]: false })
      const error = errorOf(await chat(body))
      expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param })
      expect(error.code).toMatch(/^unsupported_/)
      const kind = name === 'audio' ? 'Audio parts' : 'Images'
      expect(error.message).toMatch(
        MEDIA.includes(name) ? `${kind} are not supported` : /The model 'test\/hello' [a-z]+ .*\w\.$/,
      )
      expect(error.message).toContain(
        MEDIA.includes(name) ? `'${name === 'images' ? 'image_url' : 'input_audio'}'` : '',
      )
      expect(calls).toEqual([])
    },
  )

  it.each(ASKED.filter(([name]) => name !== 'chat'))('is no matter where nothing asks for it: %s', async (name) => {
    const { chat } = serviceThat({ [name]: false })
    expect(
      (
        await chat({
          tools: [tool],
          tool_choice: 'none',
          ...(name === 'tools' ? {} : { tools: undefined, tool_choice: undefined }),
        })
      ).status,
    ).toBe(200)
    expect((await chat({ reasoning_effort: 'none', response_format: { type: 'text' } })).status).toBe(200)
  })
})

describe('an endpoint with words of its own', () => {
  const fields = { format: 'format', parameters: () => 'parameters', sampling: (name: string) => `options.${name}` }
  const requestOf = (part: object): CallSpec =>
    ({ messages: [], output: { type: 'text' }, tools: [], toolChoice: 'auto', sampling: {}, fields, ...part }) as never

  it('has an error name the field that its client wrote', () => {
    const seeded = () =>
      checkCapable({ id: 'a/b', ownedBy: 'me', capabilities: { seed: false } }, requestOf({ sampling: { seed: 7 } }))
    expect(seeded).toThrow(expect.objectContaining({ param: 'options.seed' }))
  })

  it('may leave the choice to a model that has no tools and was given none', () => {
    const model = { id: 'a/b', ownedBy: 'me', capabilities: { tools: false } }
    expect(() => checkCapable(model, requestOf({}))).not.toThrow()
  })
})

describe('a hint', () => {
  it.each(HINTS)('is ignored and named by a model that cannot follow it: %j', async (body, field) => {
    const { chat, calls } = serviceThat({ thinking: false })
    for (const _ of ['first', 'second']) {
      const answer = await chat(body)
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, field])
    }
    expect(calls).toHaveLength(2)
    for (const { templateOptions, thinkingBudget } of calls) {
      expect([templateOptions, thinkingBudget]).toEqual([{ enable_thinking: false }, undefined])
    }
  })

  it.each(HINTS)('reaches a model that can, and one that says nothing of it: %j', async (body) => {
    for (const capabilities of [undefined, {}, { thinking: true }]) {
      const { chat, calls } = serviceThat(capabilities)
      const answer = await chat(body)
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null])
      const { templateOptions, thinkingBudget } = calls[0]!
      expect(templateOptions?.enable_thinking === true || thinkingBudget === 50).toBe(true)
    }
  })

  it.each([{}, { thinking_budget: 0 }, { reasoning_effort: 'none' }])(
    'that nobody gave is not named: %j',
    async (body) => {
      const { chat, calls } = serviceThat({ thinking: false })
      const answer = await chat(body)
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null])
      expect(calls[0]!.templateOptions?.enable_thinking ?? false).toBe(false)
    },
  )

  it('is named also by a model that says what it cannot do only once it is loaded', async () => {
    const engine = scripted({ models: { [MODEL]: [text('x'), finish()] }, capabilities: {} })
    const [unloaded] = engine.models
    let models = [unloaded!]
    const late = {
      ...engine,
      get models() {
        return models
      },
      generate: engine.generate.bind(engine),
      load: async () => {
        await new Promise((resolve) => setTimeout(resolve, 1))
        models = [{ ...unloaded!, capabilities: { thinking: false } }]
      },
    }
    const answer = await serviceOf(late).chat({ reasoning_effort: 'high' })
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'reasoning_effort'])
  })
})

describe('what changes nothing', () => {
  it.each([
    [true, { topK: 0, minP: 0, repetitionPenalty: 1 }],
    [false, {}],
  ])('is handed on to who takes it, and no matter to others: %s', async (sampling, handed) => {
    const { chat, calls } = serviceThat({ sampling })
    expect((await chat({ top_k: 0, min_p: 0, repetition_penalty: 1, temperature: 0.5 })).status).toBe(200)
    expect(JSON.parse(JSON.stringify(calls[0]!.sampling))).toEqual({ ...handed, temperature: 0.5 })
  })
})

describe('what a model says nothing of', () => {
  it.each(ASKED.filter(([name]) => !RARE.includes(name)))('is asked of it: %s %j', async (name, body) => {
    for (const capabilities of [undefined, {}, { [name]: true }]) {
      expect((await serviceThat(capabilities).chat(body)).status, name).toBe(200)
    }
  })

  it.each(ASKED.filter(([name]) => MEDIA.includes(name)))(
    'is refused where engines of version 1 could not have it: %s',
    async (name, body, param) => {
      expect(errorOf(await serviceThat(undefined).chat(body))).toMatchObject({ param, code: 'unsupported_value' })
      const { chat, calls } = serviceThat({ [name]: true })
      expect((await chat(body)).status).toBe(200)
      expect(calls[0]!.messages[0]!.content).toEqual(
        name === 'images'
          ? [words, { type: 'image', url: 'data:image/png;base64,AA==', detail: 'low' }]
          : [{ type: 'audio', data: 'AA==', format: 'wav' }],
      )
    },
  )
})

describe('what engines of version 1 could not have', () => {
  it.each(ASKED.filter(([name]) => RARE.includes(name) && !MEDIA.includes(name)))(
    'is refused unless a model declares it: %s %j',
    async (name, body, param) => {
      expect(errorOf(await serviceThat(undefined).chat(body))).toMatchObject({ status: 400, param })
      expect((await serviceThat({ [name]: true }).chat(body)).status).toBe(200)
    },
  )

  it.each([{ min_tokens: 5 }, { ignore_eos: true }])(
    'is refused if the answer has a schema or grammar: %j',
    async (body) => {
      const { chat, calls } = serviceThat({ sampling: true })
      const [param] = Object.keys(body)
      for (const form of [{ response_format: format('json_object') }, { tools: [tool], tool_choice: 'required' }]) {
        const error = errorOf(await chat({ ...body, ...form }))
        expect(error).toMatchObject({ status: 400, param })
        expect(error.message).toMatch(/ends where that ends/)
      }
      // Others do.
      expect((await chat({ top_k: 5, response_format: format('json_object') })).status).toBe(200)
      calls.length = 0
      expect(calls).toEqual([])
      expect((await chat({ ...body, tools: [tool] })).status).toBe(200)
    },
  )
})

describe('tools with quotes that may not be called', () => {
  it('ask for nothing', async () => {
    const quotes = { type: 'function', function: { name: 'g', parameters: quoting } }
    expect((await serviceThat({}).chat({ tools: [quotes], tool_choice: 'none' })).status).toBe(200)
    const first = errorOf(await serviceThat({}).chat({ tools: [quotes, tool] }))
    expect(first).toMatchObject({ status: 400, param: 'tools[0].function.parameters' })
  })
})

describe('what a completion may ask for', () => {
  it.each<[keyof Capabilities, string, object]>([
    ['infill', 'suffix', { suffix: 'b' }],
    ['promptLogprobs', 'echo', { echo: true, logprobs: 1 }],
    ['promptLogprobs', 'max_tokens', { echo: true, max_tokens: 0 }],
    ['tokens', 'echo', { prompt: [1], echo: true }],
  ])('is refused unless a model says that it has it: %s by %s', async (name, param, body) => {
    const post = async (capabilities: Capabilities) => {
      const { ask } = serviceThat(capabilities)
      const json = JSON.stringify({ model: MODEL, prompt: 'a', ...body })
      return ask('/completions', { method: 'POST', body: json, headers: { 'content-type': 'application/json' } })
    }
    const error = errorOf(await post({}))
    expect(error).toMatchObject({ status: 400, param })
    expect(error.message).toMatch(/The model 'test\/hello' [a-z]+ .*\w\.$/)
    expect((await post({ [name]: true })).status).toBe(200)
  })

  it('are no quotes, which it has no messages for', async () => {
    const { ask } = serviceThat({ quotes: true })
    const response_format = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: quoting } }
    const error = errorOf(await ask('/completions', posting({ prompt: 'Ann', response_format })))
    expect(error).toMatchObject({ status: 400, param: 'response_format' })
    expect(error.message).toContain('no messages to quote from')
  })
})

describe('the contract', () => {
  it('is version 2; engines of version 1 are taken, newer ones are not', () => {
    const engine = { models: [], async *generate() {} }
    for (const version of [undefined, 1, 2] as const)
      expect(() => createV1({ engine: { ...engine, version }, keys: 'none' })).not.toThrow()
    expect(() => createV1({ engine: { ...engine, version: 3 as 2 }, keys: 'none' })).toThrow('version 3')
  })

  it('text in parts comes to engines as text, as before', async () => {
    const { chat, calls } = serviceThat(undefined)
    await chat(requestWith(words, words))
    expect(calls[0]!.messages[0]!.content).toBe('What is this?\nWhat is this?')
  })
})

describe('thoughts', () => {
  const thought = (content: string) => ({ type: 'reasoning-delta', choice: 0, text: content }) as const
  const usage = { promptTokens: 1, completionTokens: 5, cachedTokens: 0, reasoningTokens: 3 }
  const script = [thought('Let me '), thought('see.'), text('Four.'), finish(), { type: 'usage', usage } as const]

  it('are sent beside the content, never in it', async () => {
    const { choices, usage } = jsonOf(await serviceOf(script).chat())
    expect(choices[0].message).toMatchObject({
      content: 'Four.',
      reasoning_content: 'Let me see.',
      reasoning: 'Let me see.',
    })
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(3)
  })

  it('are streamed as they come', async () => {
    const answer = await serviceOf(script).chat({ stream: true, stream_options: { include_usage: true } })
    const chunks = chunksOf(answer)
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }: { delta: Record<string, string> }) => delta))
    expect(deltas.map(({ reasoning_content: reasoning }) => reasoning ?? '').join('')).toBe('Let me see.')
    expect(deltas.map(({ reasoning }) => reasoning ?? '').join('')).toBe('Let me see.')
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('Four.')
    expect(chunks.at(-1).usage.completion_tokens_details.reasoning_tokens).toBe(3)
  })

  it('of earlier turns go back to the engine', async () => {
    const { chat, calls } = serviceThat(undefined)
    const question = { role: 'user', content: 'Two and two?' }
    for (const field of ['reasoning_content', 'reasoning']) {
      const answer = await chat({
        messages: [question, { role: 'assistant', content: 'Four.', [field]: 'Add.' }, question],
      })
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null])
    }
    for (const { messages } of calls) expect(messages[1]).toMatchObject({ content: 'Four.', reasoning: 'Add.' })
  })
})
