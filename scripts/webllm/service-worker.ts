/** In a service worker, which may import nothing while it runs: WebLLM comes with the script. */
import * as library from '@mlc-ai/web-llm'
import { webllm } from '../../src/engines/webllm/index.js'
import { recordAt, runChecks, type Wanted } from './checks.js'

interface Asked extends MessageEvent<Wanted> {
  waitUntil(work: Promise<unknown>): void
}

addEventListener('install', () => (globalThis as unknown as { skipWaiting(): void }).skipWaiting())
addEventListener('message', (event) => {
  const { data: wanted, source } = event as Asked
  const say = (line: string) => (source as unknown as MessagePort).postMessage(line)
  const engine = webllm({ models: [recordAt(wanted.origin)], cache: false, loader: async () => library, log: say })
  const work = runChecks(engine, wanted, say).then(
    (whole) => say(whole ? 'all hold' : 'not all hold'),
    (error: unknown) => say(`FAIL ${String(error)}`),
  )
  ;(event as Asked).waitUntil(work)
})
