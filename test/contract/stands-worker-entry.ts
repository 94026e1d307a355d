/**
 * Run in a worker: the engine as it is, of which a request that says `stand` never comes to an end. Beside it other
 * requests run on the device.
 */
import type { ChatCall } from '../../src/engine.js'
import { webgpuHere } from '../../src/engines/webgpu/here.js'
import { serveWebGpu } from '../../src/engines/webgpu/worker/serve.js'
import { at } from '../../src/platform/pulse.js'

serveWebGpu((options) => {
  const engine = webgpuHere(options)
  const generate = engine.generate.bind(engine)
  engine.generate = (call: ChatCall) => {
    if (call.messages.at(-1)?.content === 'stand') at('prompt', call.id, forEver)
    return generate(call)
  }
  return engine
})

function forEver(): never {
  for (;;);
}
