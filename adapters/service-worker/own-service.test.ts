import { expect, test } from 'vitest'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'
import { OwnService } from './own-service.js'

const chat = (stream: boolean) =>
  new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/hello', stream, messages: [{ role: 'user', content: 'Hello?' }] }),
  })

/** A service whose models are loaded and unloaded, and what happened to them. */
function loading() {
  const seen: string[] = []
  const engine = {
    ...scripted({ models: { 'test/hello': 'Hello there, you.' } }),
    async load(model: string, report: (progress: never) => void) {
      seen.push('load')
      const amounts = { bytesLoaded: 1, bytesTotal: 1, filesLoaded: 1, filesTotal: 1 }
      report({ model, phase: 'ready', ...amounts } as never)
    },
    async unload() {
      seen.push('unload')
    },
  }
  return { seen, own: new OwnService(createV1({ engine, keys: 'none', log: () => {} })) }
}

test('models are unloaded once a tab has the engine, and loaded again when it is gone', async () => {
  const { seen, own } = loading()
  own.rest()
  await (await own.fetch(chat(false))).text()
  expect(seen).toEqual(['load'])
  own.rest()
  own.rest()
  expect(seen).toEqual(['load', 'unload'])
  await (await own.fetch(chat(false))).text()
  expect(seen).toEqual(['load', 'unload', 'load'])
})

test('what still streams keeps its model', async () => {
  const { seen, own } = loading()
  const left = await own.fetch(chat(true))
  const read = await own.fetch(chat(true))
  own.rest()
  expect(seen).toEqual(['load'])
  await left.body!.cancel()
  own.rest()
  expect(seen).toEqual(['load'])
  expect(await read.text()).toContain('[DONE]')
  own.rest()
  expect(seen).toEqual(['load', 'unload'])
})
