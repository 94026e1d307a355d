import { builtin } from '../../../platform/builtin.js'
import { storeFor } from '../../../repository/store/choose.js'
import { portOf, serveEngine } from '../../remote/index.js'
import type { MessageTarget, Port } from '../../remote/port.js'
import { type WebLlm, webllmHere } from '../here.js'
import { becomePage, isOutsideBrowsers } from '../host/become-page.js'
import { seenStore } from '../host/seen-store.js'
import type { WebLlmOptions } from '../options.js'
import type { FromWorker, ToWorker } from './messages.js'

/** Options that only the worker itself can be given. */
export type ServeOptions = Pick<WebLlmOptions, 'loader'>

/** To be called once in a worker of your own: runs there what `webllm({ worker })` asks for. */
export function serve(own: ServeOptions = {}): void {
  const target =
    builtin<{ parentPort: MessageTarget | null }>('node:worker_threads')?.parentPort ??
    (globalThis as unknown as MessageTarget)
  const outside = portOf(target)
  const early: unknown[] = []
  let take: (message: unknown) => void = (message) => early.push(message)
  const inside: Port = {
    ...outside,
    listen(listener) {
      take = listener
      for (const message of early.splice(0)) listener(message)
    },
  }
  let opened: Promise<WebLlm> | undefined
  const waiting: MessagePort[] = []
  outside.listen((message) => {
    const { type } = message as ToWorker
    if (type === 'connect') {
      waiting.push((message as ToWorker & { type: 'connect' }).port)
      connectAll()
    } else if (type === 'open') {
      const log = (said: string) => outside.post({ type: 'log', message: said } satisfies FromWorker)
      opened ??= open({ ...(message as ToWorker & { type: 'open' }).options, ...own, log })
      // A worker that cannot open ends, and so everybody hears of it.
      opened.then((engine) => serveEngine(engine, inside)).catch((error: unknown) => setTimeout(raise, 0, error))
      connectAll()
    } else take(message)
  })
  const connectAll = () => {
    for (const port of opened ? waiting.splice(0) : []) {
      // Whoever holds the other end may use the engine, and not close it under the others.
      opened!
        .then((engine) => serveEngine(withoutClose(engine), portOf(port as unknown as MessageTarget)))
        .catch(() => {})
    }
  }
}

function raise(error: unknown): never {
  throw error
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
