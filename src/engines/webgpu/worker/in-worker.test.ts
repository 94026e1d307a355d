import { expect, test, vi } from 'vitest'
import type { WorkerThread } from '../../remote/index.js'
import { webgpuInWorker } from './in-worker.js'

/** A worker that computes and hears nothing. */
function busyThread(): { thread: WorkerThread; end: () => void } {
  let end: (code: unknown) => void = () => {}
  const thread: WorkerThread = {
    postMessage: () => {},
    on: () => {},
    once: (event, listener) => {
      if (event === 'exit') end = listener
    },
    terminate: () => {},
  }
  return { thread, end: () => end(0) }
}

test('a model that is withdrawn is off the list at once, whatever its worker is at', async () => {
  const { thread, end } = busyThread()
  const models = ['a/one', 'a/two'].map((id) => ({ id, from: id }))
  const engine = webgpuInWorker({ models, device: 'cpu', log: () => {} }, () => thread)
  const loading = engine.load!('a/one', () => {}, new AbortController().signal)
  const withdrawn = engine.withdraw('a/one')
  expect(engine.models.map(({ id }) => id)).toEqual(['a/two'])
  end()
  await expect(loading).rejects.toThrow()
  await withdrawn
})

test('what is told of a model is made anew only when that changes', async () => {
  const { thread, end } = busyThread()
  const heard: ((message: unknown) => void)[] = []
  thread.on = (event, listener) => event === 'message' && heard.push(listener)
  const models = ['a/one', 'a/two'].map((id) => ({ id, from: id, memoryBytes: 5 }))
  const engine = webgpuInWorker({ models, device: 'cpu', log: () => {} }, () => thread)
  const [one] = engine.models
  expect(one!.metadata).toEqual({ loaded: false, memory_bytes: 5, worker: true })
  expect(engine.models[0]).toBe(one)
  const loading = engine.load!('a/one', () => {}, new AbortController().signal)
  const loaded = { id: 'a/one', ownedBy: 'a', contextLength: 9, metadata: { loaded: true } }
  await vi.waitUntil(() => heard.length > 0)
  for (const hear of heard) hear([{ type: 'models', models: [loaded], ready: true }])
  expect(engine.models).toMatchObject([{ ...loaded, metadata: { loaded: true, worker: true } }, { id: 'a/two' }])
  expect(engine.models[0]).toBe(engine.models[0])
  end()
  await expect(loading).rejects.toThrow()
})
