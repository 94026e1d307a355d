import { describe, expect, it } from 'vitest'
import type { Engine, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { scripted } from '../../../engines/scripted.js'
import { wait } from '../../../platform/wait.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import type { LogEvent } from '../../door/log.js'
import { chatRequest, finish, MODEL, pause, posting, serviceOf, text, until } from '../../v1.test-helper.js'

describe('what is counted', () => {
  const usage: Part = { type: 'usage', usage: { promptTokens: 7, completionTokens: 4, cachedTokens: 3 } }
  function counting(...[script, options]: Parameters<typeof serviceOf>) {
    const events: UsageEvent[] = []
    return { events, ...serviceOf(script, { onUsage: (each) => events.push(each), ...options }) }
  }

  it('is every answer, before it ends', async () => {
    const { v1, events, chat } = counting([text('a'), finish(), usage])
    const answer = await chat()
    const expected = {
      model: MODEL,
      outcome: 'ok',
      promptTokens: 7,
      completionTokens: 4,
      cachedTokens: 3,
      project: null,
    }
    expect(events).toMatchObject([{ ...expected, requestId: answer.headers.get('x-request-id') }])
    const reader = (await v1.fetch(chatRequest({ stream: true }))).body!.getReader()
    const decoder = new TextDecoder()
    for (let seen = ''; !seen.includes('[DONE]'); ) seen += decoder.decode((await reader.read()).value)
    expect(events).toHaveLength(2)
  })

  it('is not finished before the ledger has it', async () => {
    let kept = false
    const ledger = {
      async record() {
        await pause(10)
        kept = true
      },
      rows: () => [],
    }
    await counting('Hi', { usage: ledger }).chat()
    expect(kept).toBe(true)
  })

  it('is an error as an error, and a client that left as an abort with what it had got', async () => {
    const logged: LogEvent[] = []
    const failing = counting([text('a'), new V1Error(503, 'Lost.')], { log: (event) => logged.push(event) })
    await failing.chat()
    expect(failing.events).toMatchObject([{ outcome: 'error', completionTokens: 1 }])
    // The log says what was counted.
    expect(logged).toMatchObject([{ status: 503, usage: { completionTokens: 1 } }])
    const left = counting([text('a'), text('b'), { type: 'wait', ms: 60_000 }])
    const reader = (await left.v1.fetch(chatRequest({ stream: true }))).body!.getReader()
    await reader.read()
    await reader.read()
    await reader.cancel()
    await until(() => left.events.length > 0)
    expect(left.events).toMatchObject([{ outcome: 'aborted', completionTokens: 2 }])
  })

  it('is what fails and what is left of a request with one result, too, and nothing of one that computes nothing', async () => {
    const engine: Engine = {
      ...scripted({ models: { [MODEL]: 'Hi' } }),
      models: [{ id: MODEL, ownedBy: 'me', capabilities: { embeddings: true } }],
      async embed({ inputs: [input], signal }) {
        if (input === 'long') await wait(60_000, signal)
        throw new V1Error(400, 'Too long.')
      },
      tokenize: async () => {
        throw new V1Error(400, 'Too long.')
      },
    }
    const { events, ask } = counting(engine)
    await ask('/embeddings', posting({ input: 'x' }))
    expect(events).toMatchObject([{ outcome: 'error', model: MODEL, promptTokens: 0 }])
    const client = new AbortController()
    const left = ask('/embeddings', { ...posting({ input: 'long' }), signal: client.signal })
    await pause(20)
    client.abort()
    await left.catch(() => {})
    await until(() => events.length > 1)
    expect(events.slice(1)).toMatchObject([{ outcome: 'aborted', model: MODEL }])
    await ask('/tokenize', posting({ prompt: 'x' }))
    await ask('/embeddings', posting({ model: 'no/such', input: 'x' }))
    expect(events).toHaveLength(2)
  })

  it('is not a request that was never understood, or for a model that does not exist', async () => {
    const { events, chat, ask } = counting()
    await chat({ temperature: 9 })
    await chat({ model: 'no/such' })
    await ask('/models')
    expect(events).toEqual([])
  })

  it('does not keep an answer back when it cannot be kept', async () => {
    const faults: unknown[] = []
    const broken = {
      record() {
        throw new Error('disk full')
      },
      rows: () => [],
    }
    const { chat } = serviceOf('Hi', {
      usage: broken,
      onUsage() {
        throw new Error('hook')
      },
      log: (each) => each.type === 'fault' && faults.push(each),
    })
    expect((await chat()).status).toBe(200)
    expect(faults).toHaveLength(2)
  })
})
