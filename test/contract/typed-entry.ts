/** Run by itself in Node, Deno and Bun, over the built package: prints what came of typed questions and fields. */
import type { webgpu as Webgpu } from '../../src/engines/webgpu/index.js'
import type { createV1 as CreateV1 } from '../../src/index.js'
import { typedAnswers } from './typed.js'

// By names that neither the bundler nor TypeScript follows: what is run is what was built.
const [service, engines]: readonly string[] = ['local-v1', 'local-v1/webgpu']
const { createV1 } = (await import(service!)) as { createV1: typeof CreateV1 }
const { webgpu } = (await import(engines!)) as { webgpu: typeof Webgpu }

const [nano, encoder, worker] = process.argv.slice(2)
const models = { model: 'local-v1/nano', encoder: 'test/encoder' }
const engine = webgpu({
  models: [
    { id: models.model, from: nano! },
    { id: models.encoder, from: encoder! },
  ],
  device: 'cpu',
  log: () => {},
  ...(worker === 'off' && { worker: false }),
})
const v1 = createV1({ engine, keys: 'none', log: () => {} })
const answers = await typedAnswers((path, init) => v1.fetch(new Request(`http://localhost${path}`, init)), models)
const metadata = engine.models.map(({ metadata }) => metadata!)
console.log(`over: ${JSON.stringify(metadata.map(({ worker }) => worker ?? null))}`)
console.log(`answers: ${JSON.stringify(answers)}`)
// Nothing is closed: a script that has come to its end ends.
