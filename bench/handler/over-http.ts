/** The same stream over `node:http` and `fetch`, both ends in this process, from an engine that works for each token. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { express } from '../../adapters/express.js'
import type { Engine } from '../../src/contract/engine.js'
import { createV1 } from '../../src/index.js'
import { bareHono, call, instantEngine, KEY, requestFor } from './services.js'
import { best } from './timing.js'

const TOKENS = 128

/** As the smallest models on a processor: a fraction of a millisecond of work, then the event loop has its turn. */
function workingEngine(): Engine {
  const instant = instantEngine(TOKENS)
  return {
    models: instant.models,
    async *generate(call) {
      for await (const part of instant.generate(call)) {
        // Looked at, so that a compiler cannot leave it out.
        if (work() < 0) return
        await new Promise((resolve) => setImmediate(resolve))
        yield part
      }
    },
  }
}

function work(): number {
  let sum = 0
  for (let i = 0; i < 40_000; i++) sum += Math.sqrt(i)
  return sum
}

interface OverHttp {
  readonly tokens: number
  /** Microseconds. */
  readonly perToken: Record<string, number>
  /** What the reader was given one by one. */
  readonly pieces: Readonly<Record<string, number>>
}

export async function overHttp(): Promise<OverHttp> {
  const engine = workingEngine()
  const listeners: Readonly<Record<string, RequestListener>> = {
    'bare hono': getRequestListener(bareHono(engine)),
    'local-v1': express(createV1({ engine, keys: [KEY] })),
  }
  const pieces: Record<string, number> = {}
  const alone = async () => {
    for await (const _part of engine.generate(call));
    return undefined
  }
  const works: Record<string, () => Promise<undefined>> = { engine: alone }
  const servers = []
  for (const [name, listener] of Object.entries(listeners)) {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
    const { port } = server.address() as AddressInfo
    works[name] = async () => {
      pieces[name] = await ask(port)
      return undefined
    }
  }
  try {
    return { tokens: TOKENS, perToken: await best(works, TOKENS), pieces }
  } finally {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** Reads a stream to its end; how many pieces it came in. */
async function ask(port: number): Promise<number> {
  const { method, headers, body } = requestFor(true)
  const url = `http://127.0.0.1:${port}/v1/chat/completions`
  const response = await fetch(url, { method, headers, body: await new Response(body).text() })
  const reader = response.body!.getReader()
  let pieces = 0
  while (!(await reader.read()).done) pieces++
  return pieces
}
