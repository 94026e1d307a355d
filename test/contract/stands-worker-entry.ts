/**
 * Run in a worker: the engine as it is, of which a request that says `stand` never comes to an end, and one that says
 * `call` makes a native call that never returns: a pipe is opened to which nobody writes. Beside it other requests run on
 * the device.
 */
import { openSync } from 'node:fs'
import type { ChatCall } from '../../src/contract/engine.js'
import { webgpuHere } from '../../src/engines/webgpu/here.js'
import { serveWebGpu } from '../../src/engines/webgpu/worker/serve.js'
import { during } from '../../src/platform/pulse.js'

serveWebGpu((options) => {
  const engine = webgpuHere(options)
  const generate = engine.generate.bind(engine)
  engine.generate = (call: ChatCall) => {
    const content = call.messages.at(-1)?.content
    if (content === 'stand') during('prompt', call.id, forEver)
    if (content === 'call') during('prompt', call.id, () => openSync(process.env.PIPE!, 'r'))
    return generate(call)
  }
  return engine
})

function forEver(): never {
  for (;;);
}
