import { expect, test } from 'vitest'
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
