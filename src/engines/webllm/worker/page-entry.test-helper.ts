/** Run in a page: an answer from the worker, and one over a second line to it. */

import type { Engine } from '../../../contract/engine.js'
import { call, collect } from '../../../generate/testing/call.test-helper.js'
import { record } from '../stand-in.test-helper.js'
import { overPort, webllm } from './index.js'

const engine = webllm({
  models: [record('mine', { model: '/mine' })],
  worker: () => new Worker('/worker.js', { type: 'module' }),
})

const ask = async (from: Engine) =>
  (await collect(from.generate(call({ model: 'local/mine', maxTokens: 30 })))).texts[0]!

async function answers(): Promise<string[]> {
  const one = await ask(engine)
  const { port1, port2 } = new MessageChannel()
  // As it would go to a service worker.
  const port = engine.connect()
  port1.postMessage(port, [port])
  const got = await new Promise<MessagePort>((resolve) => {
    port2.onmessage = ({ data }) => resolve(data)
  })
  return [one, await ask(overPort(got))]
}

Object.assign(globalThis, { answers: answers() })
