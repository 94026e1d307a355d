import { expect, test } from 'vitest'
import { askBy, chat, isUncounted, usage } from '../../apps/playground/page/api.js'
import { actionLabel } from '../../apps/playground/page/model-names.js'
import { Models, type Offers } from '../../apps/playground/page/models.js'
import { scripted } from '../../src/engines/scripted.js'
import { createV1, memoryUsage } from '../../src/index.js'

const ID = 'an/offer'

/** A server that keeps what was stopped on its list until `takeOff`. */
function served() {
  const loads: { readonly signal: AbortSignal; readonly done: () => void }[] = []
  const on = { list: false }
  askBy(async () => Response.json({ object: 'list', data: on.list ? [{ id: ID }] : [] }))
  const models = new Models()
  models.managed = false
  const offers: Offers = {
    models: [{ id: ID, offered: true }],
    add: (_, onProgress, signal) =>
      new Promise((resolve, reject) => {
        on.list = true
        onProgress(1, 2)
        signal.addEventListener('abort', () => reject(signal.reason))
        loads.push({ signal, done: resolve })
      }),
  }
  models.offers = offers
  return { models, loads, takeOff: () => (on.list = false) }
}

test('a download that is stopped is not over before the server has it off its list, whoever draws meanwhile', async () => {
  const { models, loads, takeOff } = served()
  await models.refresh()
  const stopped = models.load(ID)
  await models.unload(ID)
  const drawn: boolean[] = []
  models.onChange(() => drawn.push(models.loads.has(ID)))
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    models.select(ID)
  }
  // Whoever presses Stop once more changes nothing.
  await models.unload(ID)
  expect(drawn).not.toContain(false)
  takeOff()
  await expect(stopped).rejects.toThrow()
  expect(loads).toHaveLength(1)
  expect([models.loads.size, models.errors.size, models.list[0]?.offered]).toEqual([0, 0, true])
})

test('a download that is wanted again while it is being stopped begins anew', async () => {
  const { models, loads, takeOff } = served()
  await models.refresh()
  const stopped = models.load(ID)
  await models.unload(ID)
  const again = models.load(ID)
  takeOff()
  await expect(stopped).rejects.toThrow()
  await expect.poll(() => loads.length).toBe(2)
  loads[1]!.done()
  await again
  expect([loads[1]!.signal.aborted, models.errors.size, models.list[0]?.offered]).toEqual([false, 0, undefined])
})

test('an answer that could not be counted is told from those that were, by the clock of who counts', async () => {
  const counted = memoryUsage()
  const older = Math.floor(Date.now() / 60_000) * 60 - 600
  const facts = { outcome: 'ok', promptTokens: 3, cachedTokens: 0, completionTokens: 9 } as const
  await counted.record({ time: older, requestId: 'a', caller: 'anyone', project: 'a/p', model: ID, ...facts })
  let isFull = true
  let behind = 0
  const ledger: typeof counted = {
    ...counted,
    async record(event) {
      if (isFull) throw new Error('full')
      await counted.record({ ...event, time: event.time - behind })
    },
  }
  const engine = scripted({ models: { [ID]: [{ type: 'finish', choice: 0, reason: 'stop' }] } })
  const v1 = createV1({ engine, keys: 'none', usage: ledger, log: () => {} })
  askBy((path, init) => v1.fetch(new Request(`http://127.0.0.1${path}`, init)))
  const ask = async () => {
    const { signal } = new AbortController()
    for await (const _ of chat({ model: ID, messages: [{ role: 'user', content: 'Hi' }] }, 'a/p', signal));
  }
  expect(await isUncounted()).toBe(false)
  await ask()
  expect([await isUncounted(), (await usage()).map((each) => each.num_model_requests)]).toEqual([true, [1]])
  isFull = false
  await ask()
  expect([await isUncounted(), (await usage()).map((each) => each.num_model_requests)]).toEqual([false, [2]])
  // A server whose clock is behind says what time it has.
  behind = 3600
  askBy(async (path, init) => {
    const response = await v1.fetch(new Request(`http://127.0.0.1${path}`, init))
    response.headers.set('date', new Date(Date.now() - behind * 1000).toUTCString())
    return response
  })
  await ask()
  expect(await isUncounted()).toBe(false)
})

test('a download that broke off says how much is left of it', async () => {
  const metadata = { loaded: false, kept: false, download_bytes: 269_000_000, kept_bytes: 200_000_000 }
  askBy(async () => Response.json({ object: 'list', data: [{ id: ID, metadata }] }))
  const models = new Models()
  models.managed = false
  await models.refresh()
  models.select(ID)
  expect(actionLabel(models, 'Send')).toBe('Download 69 MB and send')
})
