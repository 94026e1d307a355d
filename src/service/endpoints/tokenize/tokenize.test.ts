import { describe, expect, it } from 'vitest'
import type { TokenizeCall } from '../../../contract/engine.js'
import { scripted } from '../../../engines/scripted.js'
import { errorOf, jsonOf, MODEL, posting, serviceOf } from '../../v1.test-helper.js'

describe('tokens', () => {
  it('of a text and of a conversation, and back', async () => {
    const { ask } = serviceOf()
    const made = jsonOf(await ask('/tokenize', posting({ prompt: 'hé', return_token_strs: true })))
    expect(made).toMatchObject({ count: 3, tokens: [104, 195, 169], max_model_len: null })
    expect(made.token_strs).toHaveLength(3)
    expect(jsonOf(await ask('/detokenize', posting({ tokens: made.tokens })))).toEqual({ prompt: 'hé' })
    const talk = jsonOf(await ask('/tokenize', posting({ messages: [{ role: 'user', content: 'hé' }] })))
    expect(talk).toMatchObject({ count: 3, token_strs: null })
  })

  it('of a text without special tokens, and unknown fields are named', async () => {
    const calls: TokenizeCall[] = []
    const { ask } = serviceOf({
      models: [{ id: MODEL, ownedBy: 'me' }],
      async *generate() {},
      async tokenize(call) {
        calls.push(call)
        return { tokens: [], texts: [] }
      },
    })
    for (const surrounded of [false, true, undefined]) {
      const answer = await ask('/tokenize', posting({ prompt: 'x', add_special_tokens: surrounded, frobnicate: 1 }))
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'frobnicate'])
    }
    expect(calls.map((call) => 'bare' in call && call.bare)).toEqual([true, false, false])
    const messages = [{ role: 'user', content: 'x' }]
    for (const field of [
      { add_special_tokens: true },
      { add_generation_prompt: false },
      { continue_final_message: true },
    ]) {
      expect(errorOf(await ask('/tokenize', posting({ messages, ...field })))).toMatchObject({
        ...{ status: 400, param: Object.keys(field)[0], code: 'unsupported_parameter' },
      })
    }
    const usual = { add_special_tokens: false, add_generation_prompt: true, continue_final_message: false }
    expect((await ask('/tokenize', posting({ messages, ...usual }))).status).toBe(200)
  })

  it.each([
    ['image_url', { url: 'data:image/png;base64,aGk=' }],
    ['input_audio', { data: 'aGk=', format: 'wav' }],
  ])('are none of what the model does not take: %s', async (type, value) => {
    const body = posting({ messages: [{ role: 'user', content: [{ type, [type]: value }] }] })
    const { ask } = serviceOf()
    expect(errorOf(await ask('/tokenize', body))).toEqual(errorOf(await ask('/chat/completions', body)))
    const able = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { images: true, audio: true } })
    expect((await serviceOf(able).ask('/tokenize', body)).status).toBe(200)
  })

  it('are described by tokenizer_info, for the model that is named or the only one', async () => {
    const info = { tokenizer_class: 'ByteTokenizer' }
    const one = serviceOf()
    for (const query of ['', `?model=${MODEL}`]) expect(jsonOf(await one.ask(`/tokenizer_info${query}`))).toEqual(info)
    expect(errorOf(await one.ask('/tokenizer_info?model=no/such'))).toMatchObject({ status: 404, param: 'model' })
    const two = serviceOf(scripted({ models: { [MODEL]: '', 'test/other': '' } }))
    expect(jsonOf(await two.ask('/tokenizer_info?model=test/other'))).toEqual(info)
    expect(errorOf(await two.ask('/tokenizer_info'))).toMatchObject({ status: 400, param: 'model' })
  })

  it('are refused where the engine knows none', async () => {
    const { ask } = serviceOf({ models: [{ id: MODEL, ownedBy: 'me' }], async *generate() {} })
    for (const [path, body] of [
      ['/tokenize', { prompt: 'x' }],
      ['/detokenize', { tokens: [1] }],
    ] as const) {
      expect(errorOf(await ask(path, posting(body)))).toMatchObject({
        status: 400,
        param: 'model',
        code: 'unsupported_model',
      })
    }
  })
})
