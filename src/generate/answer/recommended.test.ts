import { describe, expect, it, vi } from 'vitest'
import { compile } from '../../grammar/structured.js'
import { ChatText, type TextFiles } from '../chat-text.js'
import { call, collect, setUp } from '../testing/call.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'

/** Qwen2.5-0.5B-Instruct's own. */
const QWEN = { do_sample: true, repetition_penalty: 1.1, temperature: 0.7, top_p: 0.8, top_k: 20 }

/** The settings by which the first token is drawn. */
async function drawnBy(files: Partial<TextFiles>, part: Parameters<typeof call>[0] = {}) {
  const { decoder, model } = setUp({}, new ChatText({ ...smallTokenizer(), ...files }))
  const step = vi.spyOn(model, 'step')
  await collect(decoder.generate(call({ maxTokens: 40, sampling: { seed: 1 }, ...part })))
  const settings = step.mock.calls.flatMap(([batch]) => batch.map(({ sample }) => sample)).find((sample) => sample)!
  const { temperature, topP, topK, minP, repeats, presencePenalty, frequencyPenalty } = settings
  return { temperature, topP, topK, minP, repeated: repeats?.by, presencePenalty, frequencyPenalty }
}

const USUAL = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 }

describe('a stretch that is repeated', () => {
  it('is made less likely from step to step, where a request asks for it', async () => {
    const { decoder, model } = setUp({}, new ChatText(smallTokenizer()))
    const step = vi.spyOn(model, 'step')
    const sampling = { seed: 1, temperature: 0, dryMultiplier: 1, dryAllowedLength: 1 }
    await collect(decoder.generate(call({ maxTokens: 40, sampling })))
    const samples = step.mock.calls.flatMap(([batch]) => batch.flatMap(({ sample }) => sample ?? []))
    const taken = samples.flatMap(({ logitBias }) => [...(logitBias?.values() ?? [])])
    expect(taken.length).toBeGreaterThan(0)
    expect(Math.max(...taken)).toBeLessThan(0)
  })
})

describe('what a request does not say', () => {
  it('is as usual where nobody recommends anything', async () => {
    expect(await drawnBy({})).toEqual(USUAL)
    expect(await drawnBy({ generationConfig: { eos_token_id: 3, top_k: 0, temperature: null, top_p: 7 } })).toEqual(
      USUAL,
    )
  })

  it("is as the model's makers recommend, in the words of transformers", async () => {
    const expected = { ...USUAL, temperature: 0.7, topP: 0.8, topK: 20, repeated: 1.1 }
    expect(await drawnBy({ generationConfig: QWEN })).toEqual(expected)
  })

  it('is as they recommend in the words of MLC; those of transformers come first', async () => {
    const chatConfig = { conv_template: {}, temperature: 0.5, top_p: 0.9, presence_penalty: 0.25 }
    expect(await drawnBy({ chatConfig })).toEqual({ ...USUAL, temperature: 0.5, topP: 0.9, presencePenalty: 0.25 })
    expect(await drawnBy({ chatConfig, generationConfig: { temperature: 0.7 } })).toMatchObject({
      temperature: 0.7,
      topP: 0.9,
    })
  })

  it('is not as config.json repeats what nobody chose', async () => {
    expect(await drawnBy({ chatConfig: { temperature: 0.5, top_k: 50 } })).toEqual(USUAL)
  })

  it('leaves what it does say alone, also where that is the usual', async () => {
    const sampling = { seed: 1, temperature: 1, topP: 1, topK: 0, repetitionPenalty: 1 }
    expect(await drawnBy({ generationConfig: QWEN }, { sampling })).toEqual(USUAL)
  })

  it.each([
    [
      'a document',
      {
        output: { type: 'json_object' },
        grammar: compile({ type: 'object', additionalProperties: { type: 'number' } }),
      },
    ],
    ['arguments of a tool', { tools: [{ name: 'f', parameters: {}, strict: false }] }],
  ] as const)('recommends no penalty against copying into %s', async (_, part) => {
    const settings = await drawnBy({ generationConfig: QWEN }, part)
    expect(settings).toMatchObject({ temperature: 0.7, topP: 0.8, topK: 20 })
    expect(settings.repeated).toBeUndefined()
    const sampling = { seed: 1, repetitionPenalty: 1.3 }
    expect(await drawnBy({ generationConfig: QWEN }, { ...part, sampling })).toMatchObject({ repeated: 1.3 })
  })
})
