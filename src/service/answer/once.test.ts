import { describe, expect, it } from 'vitest'
import type { Engine } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { ollama } from '../endpoints/ollama/index.js'
import { Deadlines } from '../stream/abort.js'
import { errorOf, MODEL, posting, serviceOf, until } from '../v1.test-helper.js'
import { NO_USAGE } from '../wire/reply.js'
import { once } from './once.js'
import type { Exchange, Service } from './service.js'

it('has one place from its beginning to its end where its model is there', async () => {
  const steps: string[] = []
  const service = {
    engine: scripted({ models: { [MODEL]: 'Hi' } }),
    deadlines: new Deadlines(undefined, () => undefined),
    patience: new Deadlines(undefined, () => undefined),
    loader: { ready: () => undefined },
    admission: {
      running: 2,
      enter: (_: string, __: AbortSignal, { weight }: { weight: number }) => {
        steps.push(`enters with ${weight}`)
        return () => void steps.push('leaves')
      },
    },
  } as unknown as Service
  const { signal } = new AbortController()
  const ends: unknown[] = []
  const end = (status: number, seen: unknown) => void ends.push([status, seen])
  const exchange = { request: { signal }, caller: { id: 'me' }, end } as unknown as Exchange
  const act = async () => {
    steps.push('acts')
    return { body: {} }
  }
  await once(service, exchange, async () => ({ model: MODEL, weight: 3, free: true, act }))
  expect(steps).toEqual(['enters with 3', 'acts', 'leaves'])
  expect(ends).toEqual([[200, { model: undefined, usage: NO_USAGE }]])
})

it('gives its place back once the engine has ended what was left, and is over for its client at once', async () => {
  let free = () => {}
  const begun: string[] = []
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'me', capabilities: { embeddings: true } }],
    async *generate() {},
    async embed({ inputs: [input] }) {
      begun.push(input as string)
      // It does not look at its signal.
      if (input === 'left')
        await new Promise<void>((resolve) => {
          free = resolve
        })
      return { vectors: [[1]], promptTokens: 1 }
    },
  }
  const { ask } = serviceOf(engine, { maxInFlight: 1 })
  const leaver = new AbortController()
  const left = ask('/embeddings', { ...posting({ model: MODEL, input: 'left' }), signal: leaver.signal })
  await until(() => begun.length === 1)
  const next = ask('/embeddings', posting({ model: MODEL, input: 'next' }))
  leaver.abort()
  await left.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(begun).toEqual(['left'])
  free()
  expect((await next).status).toBe(200)
  expect(begun).toEqual(['left', 'next'])
})

describe('a model that is not loaded yet', () => {
  const capabilities = { embeddings: true }

  it('is loaded first, and takes nobody’s place meanwhile', async () => {
    const steps: string[] = []
    const gates = new Map<string, () => void>()
    const pass = (step: string) =>
      new Promise<void>((resolve) => {
        steps.push(step)
        gates.set(step, resolve)
      })
    const engine: Engine = {
      models: [MODEL, 'test/other'].map((id) => ({ id, ownedBy: 'me', capabilities })),
      async *generate() {},
      load: async (model) => (model === MODEL ? pass('load') : undefined),
      async embed({ model, inputs }) {
        if (model === MODEL) await pass('embed')
        return { vectors: inputs.map(() => [1]), promptTokens: 1 }
      },
    }
    const { ask } = serviceOf(engine, { maxInFlight: 1, maxQueue: 0 })
    const embed = (model: string) => ask('/embeddings', posting({ model, input: 'x' }))
    const first = embed(MODEL)
    await until(() => steps.includes('load'))
    expect((await embed('test/other')).status).toBe(200)
    expect(steps).toEqual(['load'])
    gates.get('load')!()
    await until(() => steps.includes('embed'))
    // Now it has one itself.
    expect(errorOf(await embed('test/other'))).toMatchObject({ status: 429, code: 'queue_full' })
    gates.get('embed')!()
    expect((await first).status).toBe(200)
    expect((await embed('test/other')).status).toBe(200)
  })

  it('may be loaded for nothing else, which counts no tokens', async () => {
    const loaded: string[] = []
    const counted: UsageEvent[] = []
    const engine: Engine = {
      ...scripted({ models: { [MODEL]: 'Hi' } }),
      load: async (model) => void loaded.push(model),
    }
    const { ask } = serviceOf(engine, { endpoints: [ollama()], onUsage: (event) => counted.push(event) })
    const answer = await ask('/api/generate', posting({}))
    const notices = ['x-ignored-fields', 'x-not-enforced'].map((name) => answer.headers.get(name))
    expect([answer.status, ...notices]).toEqual([200, null, null])
    expect([loaded, counted]).toEqual([[MODEL], []])
  })
})
