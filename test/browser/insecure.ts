/** Run in a page that is not a secure context: a service that asks for keys, over a model. */
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { ollama } from '../../src/service/endpoints/ollama/index.js'

const tiny = { id: 'test/tiny', from: `${location.origin}/tiny/` }
const engines = {
  auto: webgpu({ models: [tiny], log: () => {} }),
  webgpu: webgpu({ models: [tiny], device: 'webgpu' }),
}
const services = {
  auto: createV1({ engine: engines.auto, keys: ['a-key'], endpoints: [ollama()] }),
  webgpu: createV1({ engine: engines.webgpu, keys: ['a-key'], log: () => {} }),
}

/** The status, and what is said. */
async function ask(device: keyof typeof services, path: string, body?: object): Promise<[number, string]> {
  const headers = { authorization: 'Bearer a-key', 'content-type': 'application/json' }
  const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) }
  const answer = await services[device].fetch(new Request(location.origin + path, init))
  return [answer.status, await answer.text()]
}

export type Ask = typeof ask

Object.assign(window, { ask })
