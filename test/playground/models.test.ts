import { expect, test } from 'vitest'
import { askBy } from '../../apps/playground/page/api.js'
import { Models, type Offers } from '../../apps/playground/page/models.js'

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
