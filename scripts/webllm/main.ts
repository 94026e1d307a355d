/** In Node, in Deno, in a page and in its worker. */
import { webllm } from '../../src/engines/webllm/index.js'
import { webllm as inWorker } from '../../src/engines/webllm/worker/index.js'
import { recordAt, runChecks, type Wanted } from './checks.js'
import { bothPaces } from './speed.js'

function check(wanted: Wanted, say: (line: string) => void): Promise<boolean> {
  const options = { models: [recordAt(wanted.origin)], cache: false as const, log: say }
  const loader = () => import('@mlc-ai/web-llm')
  const engine =
    wanted.how === 'worker' ? inWorker(options) : webllm({ ...options, ...(wanted.how === 'here' && { loader }) })
  return runChecks(engine, wanted, say)
}

if (typeof window === 'undefined' || 'Deno' in globalThis) {
  const whole = await check(JSON.parse(process.argv[2]!) as Wanted, console.log)
  console.log(whole ? 'all hold' : 'not all hold')
} else Object.assign(globalThis, { check: (wanted: Wanted) => check(wanted, console.log), bothPaces })
