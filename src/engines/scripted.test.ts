import { describe, expect, it } from 'vitest'
import {
  chatRequest,
  chunksOf,
  errorOf,
  finish,
  jsonOf,
  MODEL,
  serviceOf,
  text,
  until,
} from '../service/v1.test-helper.js'
import { scripted } from './scripted.js'

describe('scripted', () => {
  it('says a text word by word, as often as it is asked to, up to the limit', async () => {
    const { chat } = serviceOf('One two  three.')
    const { choices, usage, system_fingerprint } = jsonOf(await chat({ n: 2 }))
    for (const { message, finish_reason } of choices) {
      expect([message.content, finish_reason]).toEqual(['One two  three.', 'stop'])
    }
    expect(usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 6 })
    expect(system_fingerprint).toBe('fp_scripted')
    const cut = jsonOf(await chat({ max_tokens: 2 })).choices[0]
    expect([cut.message.content, cut.finish_reason]).toEqual(['One two', 'length'])
    const chunks = chunksOf(await chat({ stream: true }))
    expect(chunks.map(({ choices: [choice] }) => choice.delta.content)).toEqual([
      '',
      'One',
      ' two',
      '  three.',
      undefined,
    ])
  })

  it('replays parts, and throws errors where they stand', async () => {
    const { chat } = serviceOf([text('a'), finish()])
    expect(jsonOf(await chat()).choices[0].message.content).toBe('a')
    expect(errorOf(await serviceOf([new Error('no')]).chat()).status).toBe(500)
  })

  it('may look at what it was asked', async () => {
    const { chat } = serviceOf((call) => `You said: ${call.messages.at(-1)!.content}`)
    expect(jsonOf(await chat()).choices[0].message.content).toBe('You said: Hello?')
  })

  it('waits, and stops waiting when it is left', async () => {
    let stopped = false
    const engine = scripted({ models: { [MODEL]: [text('a'), { type: 'wait', ms: 60_000 }] } })
    const { generate } = engine
    engine.generate = async function* (call) {
      try {
        yield* generate(call)
      } finally {
        stopped = true
      }
    }
    const { v1 } = serviceOf(engine)
    const { body } = await v1.fetch(chatRequest({ stream: true }))
    await body!.cancel()
    await until(() => stopped)
  })
})
