/** Run by Deno: one request to a service over each model, and what it is answered. */
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'

declare const Deno: { readonly args: readonly string[] }

const [from] = Deno.args
const models = [{ id: 'test/folder', from: from! }, 'test/downloaded']
const v1 = createV1({ engine: webgpu({ models, worker: false, log: () => {} }), keys: 'none', log: () => {} })
const messages = [{ role: 'user', content: 'Hello?' }]
const answers: unknown[] = []
for (const model of ['test/folder', 'test/downloaded']) {
  const body = JSON.stringify({ model, messages, max_tokens: 1 })
  const headers = { 'content-type': 'application/json' }
  const response = await v1.fetch(
    new Request('http://localhost/v1/chat/completions', { method: 'POST', headers, body }),
  )
  answers.push([response.headers.get('x-should-retry'), ((await response.json()) as { error?: unknown }).error])
}
console.log(JSON.stringify(answers))
await v1.close()
