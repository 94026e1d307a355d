/** Run as a service worker, and as the worker of each tab: a service over scripts, and where it runs. */
import { serviceWorker } from '../../adapters/service-worker/index.js'
import { createV1 } from '../../src/index.js'
import { scenarioEngine } from '../contract/scenario.js'
import { scenario } from '../contract/scripts.js'

const answer = [
  { type: 'text-delta', choice: 0, text: 'here it is' },
  { type: 'finish', choice: 0, reason: 'stop' },
] as const
const engine = scenarioEngine({
  ...scenario,
  'test/slow': { delayMs: 1500, parts: answer },
  'test/glacial': { delayMs: 330_000, parts: answer },
})
const v1 = createV1({ engine, keys: 'none', log: () => {} })
/** The same as long as the engine is not made anew. */
const id = crypto.randomUUID()

serviceWorker(v1)
serviceWorker({
  ...v1,
  match: ({ url }) => new URL(url).pathname === '/where',
  fetch: async ({ url }) => {
    // Frozen, as browsers do to tabs that nobody looks at.
    while (new URL(url).searchParams.get('hang') === id) {}
    if (new URL(url).searchParams.has('die')) {
      // As when it runs out of memory: it ends without a word.
      close()
      await new Promise(() => {})
    }
    const model = new URL(url).searchParams.get('model') ?? 'test/hello'
    return Response.json({ id, scope: globalThis.constructor.name, probe: engine.probe(model) } satisfies Where)
  },
})

export interface Where {
  readonly id: string
  readonly scope: string
  readonly probe: ReturnType<typeof engine.probe>
}
