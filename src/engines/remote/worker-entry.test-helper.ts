/** Run in a worker: a small model with random weights, and calls that end the thread or never end themselves. */
import { pbkdf2Sync } from 'node:crypto'
import type { ChatCall, Engine, Part } from '../../contract/engine.js'
import { V1Error } from '../../contract/errors.js'
import { setUp } from '../../generate/testing/call.test-helper.js'
import { beat, during } from '../../platform/pulse.js'
import { serveInside } from './index.js'

/** They take some seconds, in which no JavaScript can be interrupted: there is none. */
const NATIVE_ROUNDS = 5_000_000

const { decoder } = setUp()
let loaded = false

const engine: Engine = {
  get models() {
    return [{ id: 'test/small', ownedBy: 'test', metadata: { loaded } }]
  },
  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const prompt = call.messages[0]!.content
    if (prompt === 'refuse') {
      throw new V1Error(429, 'Too much.', { retryAfter: 7, headers: { 'x-a': 'b' }, param: 'n', code: 'c' })
    }
    if (prompt === 'stumble') throw new RangeError('stumbled')
    if (prompt === 'stand') during('prompt', call.id, forEver)
    if (prompt === 'stand without a word') forEver()
    if (prompt === 'wait for good') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    if (prompt === 'stand in native code') pbkdf2Sync('a', 'b', NATIVE_ROUNDS, 64, 'sha512')
    if (typeof prompt === 'string' && prompt.startsWith('work for ')) work(Number(prompt.slice(9)))
    loaded = true
    for await (const part of decoder.generate(call)) {
      yield part
      if (prompt === 'exit') process.exit(3)
      if (prompt === 'throw') setTimeout(() => raise())
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

function forEver(): never {
  for (;;);
}

/** As a pass on a slow processor: no event loop, and yet it goes on. */
function work(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end) beat()
}

serveInside(() => engine)
