import { describe, expect, it } from 'vitest'
import type { Part } from '../../../contract/engine.js'
import { scripted } from '../../../engines/scripted.js'
import { errorOf, eventsOf, finish, jsonOf, MODEL, recorded, serviceOf, text } from '../../v1.test-helper.js'

const usage: Part = { type: 'usage', usage: { promptTokens: 9, completionTokens: 2, cachedTokens: 4 } }
const GAP = { input_prefix: 'def gcd(a, b):\n', prompt: '    if', input_suffix: '\n    return a\n' }

function service(
  models: readonly string[] = [MODEL],
  parts: readonly Part[] = [text(' b:'), text('\n'), finish(), usage],
) {
  const { calls, script } = recorded(parts)
  const named = Object.fromEntries(models.map((id) => [id, script]))
  const { ask } = serviceOf(scripted({ models: named, capabilities: { infill: true, sampling: true } }))
  const post = (body: object) =>
    ask('/infill', { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  return { post, calls }
}

describe('gaps', () => {
  it('are filled as llama.vim asks for it: without a model, with settings and fields of llama.cpp', async () => {
    const { post, calls } = service()
    const paths = ['content', 'timings/prompt_n', 'timings/predicted_ms', 'truncated', 'nothing/at/all']
    const answer = await post({
      ...{ ...GAP, input_extra: [{ text: 'x', filename: 'a.py' }], n_predict: 128, n_indent: 4, seed: -1 },
      ...{ top_k: 40, top_p: 0.99, repeat_penalty: 1.1, samplers: ['top_k', 'infill'], cache_prompt: true },
      ...{ t_max_predict_ms: 1000, stream: false, response_fields: paths },
    })
    const body = jsonOf(answer)
    expect(body).toEqual({
      ...{ content: ' b:\n', 'timings/prompt_n': 5, truncated: false },
      'timings/predicted_ms': expect.any(Number),
    })
    expect(answer.headers.get('x-ignored-fields')).toMatch(/^input_extra, n_indent, samplers, /)
    const sampling = expect.objectContaining({ topK: 40, topP: 0.99, repetitionPenalty: 1.1, seed: undefined })
    const gap = { prompt: 'def gcd(a, b):\n    if', suffix: GAP.input_suffix, maxTokens: 128 }
    expect(calls).toMatchObject([{ model: MODEL, ...gap, sampling }])
  })

  it('are answered whole, with counts and the reason why the text ended', async () => {
    const whole = jsonOf(await service().post({ model: MODEL, ...GAP }))
    expect(whole).toMatchObject({
      ...{ content: ' b:\n', model: MODEL, stop: true, stop_type: 'eos', stopping_word: '', has_new_line: true },
      ...{ tokens_evaluated: 9, tokens_predicted: 2, tokens_cached: 11, timings: { cache_n: 4, predicted_n: 2 } },
    })
    const stopped: Part = { type: 'finish', choice: 0, reason: 'stop', stop: '\n' }
    expect(jsonOf(await service([MODEL], [stopped, usage]).post(GAP))).toMatchObject({
      ...{ stop_type: 'word', stopping_word: '\n' },
    })
    expect(jsonOf(await service([MODEL], [finish('length'), usage]).post(GAP)).stop_type).toBe('limit')
  })

  it('are streamed piece by piece, the last of which stops', async () => {
    const { post } = service()
    const events = eventsOf((await post({ ...GAP, stream: true })).text).map((event) => JSON.parse(event))
    expect(events.map(({ content, stop }) => [content, stop])).toEqual([
      [' b:', false],
      ['\n', false],
      ['', true],
    ])
    expect(events.at(-1)).toMatchObject({ tokens_predicted: 2, stop_type: 'eos' })
  })

  it('may be empty on both sides, and stay so where nothing is to be written', async () => {
    const { post, calls } = service()
    const nothing = { input_prefix: '', input_suffix: '', prompt: '', n_predict: 0 }
    expect(jsonOf(await post(nothing)).content).toBe('')
    expect(eventsOf((await post({ ...nothing, stream: true })).text)).toHaveLength(1)
    expect(jsonOf(await post({ ...nothing, response_fields: [''] }))).toEqual({})
    expect(calls[0]).toMatchObject({ prompt: '', suffix: '', maxTokens: 1 })
  })

  it.each<[string, object]>([
    ['input_prefix', { input_prefix: undefined }],
    ['input_suffix', { input_suffix: 5 }],
    ['prompt', { prompt: [1, 2] }],
    ['n_predict', { n_predict: -2 }],
    ['response_fields[0]', { response_fields: [5] }],
    ['repeat_penalty', { repeat_penalty: 0 }],
    ['model', { model: 'test/other' }],
  ])('are refused by the name of the field: %s %j', async (param, body) => {
    expect(errorOf(await service().post({ ...GAP, ...body }))).toMatchObject({ param })
  })

  it('must name their model if there are several', async () => {
    expect(errorOf(await service([MODEL, 'test/other']).post(GAP))).toMatchObject({ status: 400, param: 'model' })
  })

  it('are refused by a model that was not taught to, in the words of the request', async () => {
    const { ask } = serviceOf('Hi')
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const error = errorOf(await ask('/infill', { ...init, body: JSON.stringify(GAP) }))
    expect(error).toMatchObject({ status: 400, param: 'input_suffix' })
    expect(error.message).toContain('cannot fill gaps')
  })
})
