/** Run in a worker: a small model with random weights, and calls that end the thread. */
import { parentPort } from 'node:worker_threads'
import { setUp } from '../../decode/testing/call.test-helper.js'
import type { ChatCall, Engine, Part } from '../../engine.js'
import { V1Error } from '../../errors.js'
import { portOf, serveEngine } from './index.js'

const { decoder } = setUp()
let loaded = false

const engine: Engine = {
  get models() {
    return [{ id: 'test/small', ownedBy: 'test', metadata: { loaded } }]
  },
  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const said = call.messages[0]!.content
    if (said === 'refuse') {
      throw new V1Error(429, 'Too much.', { retryAfter: 7, headers: { 'x-a': 'b' }, param: 'n', code: 'c' })
    }
    if (said === 'stumble') throw new RangeError('stumbled')
    loaded = true
    for await (const part of decoder.generate(call)) {
      yield part
      if (said === 'exit') process.exit(3)
      if (said === 'throw') setTimeout(() => raise())
    }
  },
  async load(model, onProgress) {
    onProgress({ model, phase: 'ready', bytesLoaded: 1, bytesTotal: 1, filesLoaded: 1, filesTotal: 1 })
    loaded = true
  },
}

function raise(): never {
  throw new Error('nobody catches this')
}

serveEngine(engine, portOf(parentPort!))
