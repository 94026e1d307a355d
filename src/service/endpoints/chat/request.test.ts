import { describe, expect, it } from 'vitest'
import { MOST_NAMED } from '../../wire/fields.js'
import { minimal, read, refusedFor, schema, tool, user } from '../../wire/request.test-helper.js'

describe('a chat request', () => {
  it('has defaults for all but model and messages', () => {
    expect(read()).toEqual({
      model: 'test/hello',
      messages: [user],
      stream: false,
      includeUsage: false,
      includeForced: false,
      n: 1,
      maxTokens: undefined,
      stop: [],
      sampling: {},
      topLogprobs: undefined,
      output: { type: 'text' },
      tools: [],
      toolChoice: 'none',
      parallelToolCalls: true,
      templateOptions: undefined,
      ignored: [],
    })
  })

  it('takes null for absent, as clients send it', () => {
    const names = [
      'stream',
      'stream_options',
      'n',
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'stop',
    ]
    names.push('seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'tools')
    names.push(
      'response_format',
      'tool_choice',
      'parallel_tool_calls',
      'user',
      'metadata',
      'store',
      'functions',
      'audio',
    )
    expect(read(Object.fromEntries(names.map((name) => [name, null])))).toEqual(read())
  })

  it('hands on every setting', () => {
    const body = {
      n: 128,
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
      max_completion_tokens: 5,
      temperature: 2,
      top_p: 0,
      presence_penalty: -2,
      frequency_penalty: 2,
      logit_bias: { 0: -100, 50256: 100 },
      seed: -1,
      logprobs: true,
      top_logprobs: 20,
      stop: ['a', 'b', 'c', 'd'],
    }
    expect(read(body)).toMatchObject({
      n: 128,
      stream: true,
      includeUsage: true,
      maxTokens: 5,
      topLogprobs: 20,
      stop: ['a', 'b', 'c', 'd'],
      sampling: { temperature: 2, topP: 0, presencePenalty: -2, frequencyPenalty: 2, seed: -1 },
    })
    expect([...read(body).sampling.logitBias!]).toEqual([
      [0, -100],
      [50256, 100],
    ])
    expect(read({ logprobs: true }).topLogprobs).toBe(0)
    expect(read({ max_tokens: 3, stop: 'x' })).toMatchObject({ maxTokens: 3, stop: ['x'] })
  })

  it.each<[string | null, unknown]>([
    [null, null],
    [null, []],
    [null, 'text'],
    ['model', { messages: [user] }],
    ['model', { ...minimal, model: 5 }],
    ['messages', { model: 'a/b' }],
    ['messages', { model: 'a/b', messages: {} }],
    ['messages', { model: 'a/b', messages: [] }],
    ['messages[0]', { model: 'a/b', messages: ['hi'] }],
  ])('is refused for %s', (param, json) => {
    expect(refusedFor(json)).toBe(param)
  })

  it.each<[string, object]>([
    ['temperature', { temperature: 2.1 }],
    ['temperature', { temperature: -0.1 }],
    ['temperature', { temperature: '1' }],
    ['top_p', { top_p: 1.01 }],
    ['presence_penalty', { presence_penalty: 2.5 }],
    ['frequency_penalty', { frequency_penalty: -2.5 }],
    ['seed', { seed: 1.5 }],
    ['n', { n: 0 }],
    ['n', { n: 129 }],
    ['n', { n: 1.5 }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_completion_tokens', { max_completion_tokens: -2 }],
    ['max_tokens', { max_tokens: 1, max_completion_tokens: 1 }],
    ['stream', { stream: 'true' }],
    ['stream_options', { stream_options: { include_usage: true } }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 1 } }],
    ['stream_options.include_forced', { stream: true, stream_options: { include_forced: 'yes' } }],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['stop', { stop: [] }],
    ['stop', { stop: '' }],
    ['stop[1]', { stop: ['a', 5] }],
    ['stop', { stop: {} }],
    ['logit_bias', { logit_bias: { hello: 1 } }],
    ['logit_bias.5', { logit_bias: { 5: 101 } }],
    ['logit_bias', { logit_bias: [] }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['logprobs', { logprobs: 2 }],
    ['reasoning_effort', { reasoning_effort: 3 }],
    ['store', { store: 'yes' }],
    ['verbosity', { verbosity: {} }],
    ['functions', { functions: [] }],
    ['function_call', { function_call: 'auto' }],
    ['audio', { audio: { voice: 'alloy', format: 'wav' } }],
    ['text', { text: { format: { type: 'json_object' } } }],
    ['max_output_tokens', { max_output_tokens: 5 }],
    ['num_predict', { num_predict: 5 }],
    ['n_predict', { n_predict: 1.5 }],
    ['stop_sequences', { stop_sequences: ['a'] }],
    ['instructions', { instructions: 'Be brief.' }],
    ['system', { system: 'Be brief.' }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['input', { input: 'Hi' }],
    ['prompt', { prompt: 'Hi' }],
    ['output_format', { output_format: { type: 'json_schema', schema: {} } }],
    ['output_config', { output_config: { format: { type: 'json_schema', schema: {} } } }],
    ['enable_thinking', { enable_thinking: 'yes' }],
    ['chat_template_kwargs.enable_thinking', { chat_template_kwargs: { enable_thinking: 'false' } }],
    ['reasoning.enabled', { reasoning: { enabled: 'yes' } }],
    ['reasoning.max_tokens', { reasoning: { max_tokens: -5 } }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['metadata', { metadata: [] }],
    ['metadata.a', { metadata: { a: 1 } }],
    ['user', { user: 5 }],
    ['top_k', { top_k: -2 }],
    ['top_k', { top_k: 1.5 }],
    ['min_p', { min_p: 1.1 }],
    ['repetition_penalty', { repetition_penalty: 0 }],
    ['dry_base', { dry_base: 0.5 }],
    ['dry_allowed_length', { dry_allowed_length: 1.5 }],
    ['min_tokens', { min_tokens: -1 }],
    ['min_tokens', { min_tokens: 9, max_tokens: 8 }],
    ['stop_token_ids', { stop_token_ids: 5 }],
    ['stop_token_ids[1]', { stop_token_ids: [5, '6'] }],
    ['stop_token_ids[0]', { stop_token_ids: [-1] }],
    ['ignore_eos', { ignore_eos: 'yes' }],
    ['return_token_ids', { return_token_ids: 1 }],
  ])('is refused for %s: %j', (param, body) => {
    expect(refusedFor({ ...minimal, ...body })).toBe(param)
  })

  it('accepts harmless hints', () => {
    const hints = { user: 'me', metadata: { a: 'b' }, store: false, service_tier: 'auto', modalities: ['text'] }
    expect(read({ ...hints, prediction: { type: 'content', content: 'x' }, verbosity: 'medium' }).ignored).toEqual([])
  })

  it.each([
    ['reasoning_effort', { reasoning_effort: 'huge' }],
    ['store', { store: true }],
    ['verbosity', { verbosity: 'low' }],
    ['verbosity', { verbosity: 'epic' }],
    ['service_tier', { service_tier: 'gold' }],
    ['service_tier', { service_tier: 'priority' }],
    ['thinking', { thinking: { type: 'between_tools' } }],
    ['reasoning', { reasoning: 'high' }],
    ['reasoning.effort', { reasoning: { effort: 'huge' } }],
    ['reasoning.exclude', { reasoning: { exclude: true } }],
    ['web_search_options', { web_search_options: {} }],
    ['tools[0]', { tools: [{ type: 'web_search', web_search: { enable: true } }] }],
  ])('never refuses a hint: %s is ignored and named', (name, body) => {
    expect(read(body).ignored).toEqual([name])
  })

  it('takes -1 for no limit, as local servers do', () => {
    expect(read({ max_tokens: -1 })).toMatchObject({ maxTokens: undefined, ignored: [] })
    expect(read({ max_completion_tokens: -1 }).maxTokens).toBeUndefined()
    expect(refusedFor({ ...minimal, max_tokens: -2 })).toBe('max_tokens')
    expect(refusedFor({ ...minimal, max_tokens: -1, max_completion_tokens: 5 })).toBe('max_tokens')
    for (const name of ['n_predict', 'num_predict', 'max_output_tokens']) {
      expect(read({ [name]: -1 })).toMatchObject({ maxTokens: undefined, ignored: [] })
    }
  })

  it('takes llama.cpp’s name for the limit where OpenAI’s is not there, as its server does', () => {
    expect(read({ n_predict: 7 })).toMatchObject({ maxTokens: 7, ignored: [] })
    expect(read({ n_predict: 7, max_tokens: null }).maxTokens).toBe(7)
    expect(read({ n_predict: 7, max_tokens: 5 }).maxTokens).toBe(5)
    expect(read({ n_predict: 7, max_completion_tokens: 5 }).maxTokens).toBe(5)
    expect(read({ n_predict: 7, max_tokens: -1 }).maxTokens).toBeUndefined()
  })

  it('hands on what servers of open models take', () => {
    const body = { top_k: 20, min_p: 0.05, repetition_penalty: 1.1, min_tokens: 3, stop_token_ids: [5, 0] }
    expect(read({ ...body, ignore_eos: true, return_token_ids: true })).toMatchObject({
      sampling: { topK: 20, minP: 0.05, repetitionPenalty: 1.1 },
      minTokens: 3,
      stopTokens: [5, 0],
      ignoreEnds: true,
      returnTokens: true,
      ignored: [],
    })
    const off = { min_tokens: 0, stop_token_ids: [], ignore_eos: false, return_token_ids: false }
    expect(read(off)).toStrictEqual(read())
  })

  it('tells what was said from what was not, for the latter is as the model recommends', () => {
    expect(JSON.parse(JSON.stringify(read().sampling))).toEqual({})
    const usual = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 }
    expect(read({ ...usual, top_k: -1, min_p: 0, repetition_penalty: 1 }).sampling).toEqual({
      ...{ temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 },
      ...{ topK: 0, minP: 0, repetitionPenalty: 1 },
    })
    expect(read({ top_k: 0, temperature: null }).sampling).toEqual({ topK: 0 })
  })

  it('names what it does not know, wherever it stands', () => {
    const body = {
      top_n: 5,
      messages: [{ ...user, mood: 'good' }],
      tools: [{ ...tool, cached: true }],
      response_format: { type: 'text', x: 1 },
    }
    expect(read(body).ignored).toEqual(['top_n', 'messages[0].mood', 'response_format.x', 'tools[0].cached'])
  })

  it('notes no more of them than an answer names', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, 1]))
    const { ignored } = read({ ...unknown, messages: [{ ...user, ...unknown }] })
    expect(ignored).toEqual(Array.from({ length: MOST_NAMED + 1 }, (_, i) => `k${i}`))
  })

  it('thinks as Anthropic’s words say, which other servers take in chats', () => {
    const readThinking = (thinking: object, more = {}) => read({ thinking, ...more })
    expect(readThinking({ type: 'enabled' })).toMatchObject({
      templateOptions: { enable_thinking: true },
      thinkingField: 'thinking',
      ignored: [],
    })
    expect(readThinking({ type: 'disabled' })).toMatchObject({
      templateOptions: { enable_thinking: false },
      ignored: [],
    })
    expect(readThinking({ type: 'adaptive' })).toMatchObject({ templateOptions: undefined, ignored: [] })
    const both = readThinking({ type: 'disabled' }, { chat_template_kwargs: { enable_thinking: true } })
    expect(both.templateOptions).toEqual({ enable_thinking: true })
  })

  it.each<[object, object]>([
    [{ enable_thinking: true }, { templateOptions: { enable_thinking: true }, thinkingField: 'enable_thinking' }],
    [{ enable_thinking: false }, { templateOptions: { enable_thinking: false } }],
    [
      { reasoning: { enabled: true } },
      { templateOptions: { enable_thinking: true }, thinkingField: 'reasoning.enabled' },
    ],
    [{ reasoning: { enabled: false } }, { templateOptions: { enable_thinking: false } }],
    [{ reasoning: { max_tokens: 300 } }, { thinkingBudget: 300, thinkingField: 'reasoning.max_tokens' }],
    [
      { reasoning: { enabled: true, max_tokens: 300 } },
      { templateOptions: { enable_thinking: true }, thinkingBudget: 300, thinkingField: 'reasoning.enabled' },
    ],
    [{ reasoning: { effort: 'high', enabled: false } }, { templateOptions: { enable_thinking: false } }],
    [
      { enable_thinking: false, chat_template_kwargs: { enable_thinking: true } },
      { templateOptions: { enable_thinking: true }, thinkingField: 'chat_template_kwargs.enable_thinking' },
    ],
    [
      { thinking_budget: 5, reasoning: { max_tokens: 300 } },
      { thinkingBudget: 5, thinkingField: 'thinking_budget' },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 300 } },
      { templateOptions: { enable_thinking: true }, thinkingBudget: 300, thinkingField: 'thinking' },
    ],
    [{ thinking: { type: 'disabled', budget_tokens: 300 } }, { templateOptions: { enable_thinking: false } }],
  ])('thinks as Anthropic’s, Qwen’s and OpenRouter’s words say: %j', (words, expected) => {
    expect(read(words)).toMatchObject({ ...expected, ignored: [] })
  })

  it.each<[object, string, string]>([
    [{ max_token: 5 }, 'max_token', 'max_tokens'],
    [{ maxTokens: 5 }, 'maxTokens', 'max_tokens'],
    [{ response_fromat: { type: 'json_object' } }, 'response_fromat', 'response_format'],
    [{ stop_sequence: ['a'] }, 'stop_sequence', 'stop_sequences'],
    [{ stops: 'a' }, 'stops', 'stop'],
    [{ tool: [tool] }, 'tool', 'tools'],
    [{ tools: [tool], tool_choise: 'required' }, 'tool_choise', 'tool_choice'],
    [
      { tools: [{ type: 'function', function: { name: 'a', parameter: { type: 'object' } } }] },
      'tools[0].function.parameter',
      'parameters',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strickt: true } } },
      'response_format.json_schema.strickt',
      'strict',
    ],
  ])('is refused where what its caller relies on is misspelt: %j', (more, name, meant) => {
    expect(() => read(more)).toThrow(`Unsupported parameter: '${name}'. Did you mean '${meant}'?`)
  })

  it.each([{ max_token: null }, { tool: [] }, { stops: '' }, { min_tokens_: 3 }, { form: 'a' }, { temprature: 1 }])(
    'only names what asks for nothing, or is no such word: %j',
    (more) => expect(read(more).ignored).toEqual(Object.keys(more)),
  )

  it.each<[object, string]>([
    [{ thinking: { type: 'enabled', budget: 300 } }, 'thinking.budget'],
    [{ thinking: { type: 'enabled', budget_tokens: -1 } }, 'thinking.budget_tokens'],
    [
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'weather' }, once: true } },
      'tool_choice.once',
    ],
    [
      {
        tools: [tool],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tool], most: 1 } },
      },
      'tool_choice.allowed_tools.most',
    ],
    [{ tools: [{ type: 'custom', strict: true, custom: { name: 'a' } }] }, 'tools[0].strict'],
    [
      {
        tools: [
          {
            type: 'custom',
            custom: {
              name: 'a',
              format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a', flags: 'i' } },
            },
          },
        ],
      },
      'tools[0].custom.format.grammar.flags',
    ],
  ])('names what nobody reads within other fields, too: %j', (more, name) => {
    expect(read(more).ignored).toEqual([name])
  })

  it('takes what is off, or null, for nothing asked', () => {
    const off = {
      background: false,
      input: null,
      enable_thinking: null,
      reasoning: { enabled: null, max_tokens: null },
    }
    expect(read(off)).toMatchObject({ templateOptions: undefined, thinkingBudget: undefined, ignored: [] })
  })

  it('hands on what chat templates are told', () => {
    expect(read({ reasoning_effort: 'none' }).templateOptions).toMatchObject({ enable_thinking: false })
    expect(read({ reasoning_effort: 'high' }).templateOptions).toMatchObject({ enable_thinking: true })
    const nested = read({ reasoning: { effort: 'high' } })
    expect(nested.templateOptions).toEqual({ enable_thinking: true, reasoning_effort: 'high' })
    const both = read({ reasoning: { effort: 'high' }, reasoning_effort: 'none' })
    expect(both.templateOptions).toMatchObject({ enable_thinking: false })
    expect([nested.ignored, both.ignored]).toEqual([[], []])
    const given = { reasoning_effort: 'high', chat_template_kwargs: { enable_thinking: false } }
    expect(read(given).templateOptions).toMatchObject({ enable_thinking: false, reasoning_effort: 'high' })
  })
})
