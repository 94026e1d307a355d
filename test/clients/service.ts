import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { express } from '../../adapters/express.js'
import { createV1 } from '../../src/index.js'
import { type Probe, type Scenario, type ScenarioEngine, scenarioEngine } from '../contract/scenario.js'

export const KEY = 'sk-client'

export interface Service {
  /** What a client's `baseURL` is set to. */
  readonly baseURL: string
  readonly probe: (model: string) => Probe
  /** The method, path and headers of every request so far. */
  readonly requests: readonly { method: string; path: string; headers: Readonly<Record<string, unknown>> }[]
  close(): Promise<void>
}

/** A service on a real socket, for a client to be pointed at. */
export async function startService(
  scenario: Scenario,
  options: Partial<Parameters<typeof createV1>[0]> = {},
): Promise<Service> {
  const engine: ScenarioEngine = scenarioEngine(scenario)
  const v1 = createV1({ engine, keys: [KEY], log: () => {}, ...options })
  const listener = express(v1)
  const requests: { method: string; path: string; headers: Record<string, unknown> }[] = []
  const server = createServer((incoming, outgoing) => {
    requests.push({ method: incoming.method!, path: incoming.url!, headers: incoming.headers })
    listener(incoming, outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    probe: engine.probe,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await v1.close()
    },
  }
}
