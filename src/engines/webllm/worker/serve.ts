import { storeFor } from '../../../models/index.js'
import { assertOptions, builtin } from '../../../platform/index.js'
import { type MessageTarget, portOf, serveEngine, serveInside } from '../../remote/index.js'
import { type WebLlm, webllmHere } from '../here.js'
import { becomePage, isOutsideBrowsers } from '../host/become-page.js'
import { seenStore } from '../host/seen-store.js'
import type { WebLlmOptions } from '../options.js'
import type { Connect, SentOptions } from './messages.js'

/** Options that only the worker itself can be given. */
export type ServeOptions = Pick<WebLlmOptions, 'loader'>

/** To be called once in a worker of your own: runs there what `webllm({ worker })` asks for. */
export function serve(own: ServeOptions = {}): void {
  assertOptions('serve', own, { loader: true })
  const waiting: MessagePort[] = []
  serveInside<SentOptions, WebLlm>(
    (options, log) => open({ ...options, ...own, log }),
    (message, opened) => {
      const isOurs = (message as Partial<Connect> | undefined)?.type === 'connect'
      if (isOurs) waiting.push((message as Connect).port)
      for (const port of opened ? waiting.splice(0) : []) {
        // Whoever holds the other end may use the engine, and not close it under the others.
        opened!
          .then((engine) => serveEngine(withoutClose(engine), portOf(port as unknown as MessageTarget)))
          .catch(() => {})
      }
      return isOurs
    },
  )
}

async function open(options: WebLlmOptions): Promise<WebLlm> {
  staysAlive()
  if (!isOutsideBrowsers()) return webllmHere(options)
  const store = seenStore(storeFor(options.cache))
  await becomePage(store)
  return webllmHere(options, { store, holdsWeights: store.keeps })
}

/** WebLLM leaves promises unattended whose failure its caller hears of as well; in Node and Deno they would end the thread. */
function staysAlive(): void {
  builtin<typeof process>('node:process')?.on('unhandledRejection', (reason: unknown) => {
    console.warn('local-v1: an error in WebLLM that nobody waited for.', reason)
  })
}

function withoutClose(engine: WebLlm): WebLlm {
  return {
    get models() {
      return engine.models
    },
    ready: engine.ready,
    generate: (call) => engine.generate(call),
    load: (model, onProgress, signal) => engine.load!(model, onProgress, signal),
    unload: (model) => engine.unload!(model),
  }
}
