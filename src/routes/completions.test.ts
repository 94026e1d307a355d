import { describe, expect, it } from 'vitest'
import type { ChatCall } from '../engine.js'
import { errorOf, eventsOf, finish, jsonOf, MODEL, serviceOf, text } from '../v1.test-helper.js'

function texts() {
  const calls: ChatCall[] = []
  const logprobs = [{ token: ' on', bytes: null, logprob: -0.5, top: [{ token: ' on', bytes: null, logprob: -0.5 }] }]
  const { ask } = serviceOf((call: ChatCall) => {
    calls.push(call)
    return [{ ...text(' on'), ...(call.topLogprobs !== undefined && { logprobs }) }, text('.'), finish('length')]
  })
  const post = (body: object) =>
    ask('/completions', {
      method: 'POST',
      body: JSON.stringify({ model: MODEL, ...body }),
      headers: { 'content-type': 'application/json' },
    })
  return { post, calls }
}

describe('completions', () => {
  it.each([['Go'], [['Go']], [[1, 2]], [[[1, 2]]]])('go on from a text or tokens as they stand: %j', async (prompt) => {
    const { post, calls } = texts()
    const answer = jsonOf(await post({ prompt }))
    expect(answer).toMatchObject({
      object: 'text_completion',
      choices: [{ index: 0, text: ' on.', finish_reason: 'length', logprobs: null }],
    })
    expect(answer.id).toMatch(/^cmpl-/)
    expect(calls).toMatchObject([
      { messages: [], maxTokens: 16, prompt: JSON.stringify(prompt).includes('Go') ? 'Go' : [1, 2] },
    ])
  })

  it('are streamed, with an echo and with the usage where it is asked for', async () => {
    const { post } = texts()
    const events = eventsOf(
      (await post({ prompt: 'Go', echo: true, stream: true, stream_options: { include_usage: true } })).text,
    )
    expect(events.pop()).toBe('[DONE]')
    const chunks = events.map((event) => JSON.parse(event))
    expect(chunks.flatMap(({ choices }) => choices.map((choice: { text: string }) => choice.text)).join('')).toBe(
      'Go on.',
    )
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 0 } })
    expect(chunks.at(-2).choices[0].finish_reason).toBe('length')
  })

  it('tell log probabilities in the older form', async () => {
    const { choices } = jsonOf(await texts().post({ prompt: 'Go', logprobs: 1 }))
    expect(choices[0].logprobs).toEqual({
      tokens: [' on'],
      token_logprobs: [-0.5],
      top_logprobs: [{ ' on': -0.5 }],
      text_offset: [0],
    })
  })

  it.each<[string, object]>([
    ['prompt', {}],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: ['a', 'b'] }],
    ['prompt[1]', { prompt: [1, 'b'] }],
    ['best_of', { prompt: 'a', best_of: 2 }],
    ['suffix', { prompt: 'a', suffix: 'b' }],
    ['echo', { prompt: [1], echo: true }],
    ['logprobs', { prompt: 'a', logprobs: 6 }],
  ])('refuse by the name of the field: %s %j', async (param, body) => {
    const { post, calls } = texts()
    expect(errorOf(await post(body))).toMatchObject({ status: 400, param })
    expect(calls).toEqual([])
  })
})
