import { expect, test } from 'vitest'
import type { LoadProgress, ModelInfo } from '../contract/engine.js'
import type { WebGpu } from '../engines/webgpu/engine.js'
import { createV1 } from '../service/v1.js'
import { pageModels } from './playground-models.js'

const NAME = 'an/offer'

/** One that takes its time to give up a load: it reads a disk once more, or waits for a thread. */
function slow() {
  const offered = new Map<string, ModelInfo>()
  const loads: { readonly signal: AbortSignal; done(): void; fail(error: unknown): void }[] = []
  const engine: WebGpu = {
    version: 2,
    get models() {
      return [...offered.values()]
    },
    offer(wanted) {
      const { id } = wanted as { id: string }
      if (!offered.has(id)) offered.set(id, { id, ownedBy: 'an' })
      return offered.get(id)!
    },
    async withdraw(id) {
      offered.delete(id)
    },
    generate() {
      throw new Error('Nobody asks it.')
    },
    load: (_, onProgress: (progress: LoadProgress) => void, signal) =>
      new Promise((done, fail) => {
        loads.push({ signal, done, fail })
        onProgress({ model: NAME, phase: 'download', bytesLoaded: 1, bytesTotal: 2, filesLoaded: 0, filesTotal: 1 })
      }),
    async unload() {},
  }
  const v1 = createV1({ engine, keys: 'none', log: () => {} })
  const page = pageModels({ engine, v1, device: 'cpu' })
  const press = async () => {
    const body = JSON.stringify({ model: NAME })
    const answer = await page(new Request('http://localhost/playground/models', { method: 'POST', body }))
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toContain('"bytes_loaded":1')
    return {
      stop: () => reader.cancel(),
      async rest() {
        let text = ''
        for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
        return text
      },
    }
  }
  const listed = () => engine.models.some(({ id }) => id === NAME)
  return { loads, press, listed }
}

test('a model whose download was stopped is downloaded anew, however long the first takes to end', async () => {
  const { loads, press, listed } = slow()
  await (await press()).stop()
  await expect.poll(listed).toBe(false)
  const again = await press()
  expect(loads).toHaveLength(2)
  loads[0]!.fail(new Error('given up'))
  loads[1]!.done()
  expect(await again.rest()).toBe('data: [DONE]\n\n')
  expect([loads[0]!.signal.aborted, loads[1]!.signal.aborted, listed()]).toEqual([true, false, true])
})

test('who stops takes nothing from another page that waits for the same model', async () => {
  const { loads, press, listed } = slow()
  const [one, two] = [await press(), await press()]
  await one.stop()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([loads.length, loads[0]!.signal.aborted, listed()]).toEqual([1, false, true])
  loads[0]!.done()
  expect(await two.rest()).toBe('data: [DONE]\n\n')
  // It was loaded: to fail, later, takes it off no list.
  const third = await press()
  loads[1]!.fail(new Error('no room'))
  expect([await third.rest(), listed()]).toEqual([expect.stringContaining('no room'), true])
})

test('what cannot be loaded is not offered, whoever waits for it', async () => {
  const { loads, press, listed } = slow()
  const both = [await press(), await press()]
  loads[0]!.fail(new Error('no room'))
  for (const each of both) expect(await each.rest()).toContain('no room')
  expect(listed()).toBe(false)
})
