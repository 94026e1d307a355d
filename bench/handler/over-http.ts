/** Streams and whole answers over `node:http`, both ends in this process. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { express } from '../../adapters/express.js'
import type { Engine } from '../../src/contract/engine.js'
import { createV1 } from '../../src/index.js'
import { bareHono, call, instantEngine, KEY, ours, requestFor } from './services.js'
import { best, times } from './timing.js'

const TOKENS = 128
const ANSWERS = 200

/** The platform's own; Hono's listener replaces both by lighter ones, which are to serve it alone. */
const platform = { Request, Response }

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

/** The same stream, read by `fetch`, from an engine that works for each token. */
export async function streamsOverHttp(): Promise<OverHttp> {
  const engine = workingEngine()
  const listeners = {
    'bare hono': getRequestListener(bareHono(engine)),
    'local-v1': express(createV1({ engine, keys: [KEY] })),
  }
  const pieces: Record<string, number> = {}
  const alone = async () => {
    for await (const _part of engine.generate(call));
    return undefined
  }
  const perToken = await served(listeners, (ports) => {
    const works: Record<string, () => Promise<undefined>> = { engine: alone }
    for (const [name, port] of Object.entries(ports)) {
      works[name] = async () => {
        pieces[name] = await ask(port)
        return undefined
      }
    }
    return best(works, TOKENS)
  })
  return { tokens: TOKENS, perToken, pieces }
}

/** Microseconds for a whole answer of an engine that has it at once; both bodies are of as many bytes. */
export async function wholeOverHttp(): Promise<{ readonly bytes: number; readonly perAnswer: Record<string, number> }> {
  const engine = instantEngine(1)
  const bytes = async (fetch: typeof bare) => Buffer.byteLength(await (await fetch(requestFor(false))).text())
  const bare = bareHono(engine, { more: '' })
  const [wanted, had] = [await bytes(ours(engine)), await bytes(bare)]
  const sent = await requestBytes()
  const hono = getRequestListener(bareHono(engine, { more: 'x'.repeat(wanted - had) }))
  const light = { Request, Response }
  const listeners = { 'bare hono': hono, 'local-v1': express(createV1({ engine, keys: [KEY] })) }
  try {
    const perAnswer = await served(listeners, async (ports) => {
      const works = {
        engine: times(ANSWERS, async () => {
          for await (const _part of engine.generate(call));
          return undefined
        }),
      }
      const closing = []
      for (const [name, port] of Object.entries(ports)) {
        const { ask, close } = await connection(port, sent, wanted)
        closing.push(close)
        const many = times(ANSWERS, ask)
        Object.assign(works, {
          [name]: () => {
            Object.assign(globalThis, name === 'bare hono' ? light : platform)
            return many()
          },
        })
      }
      const least = await best(works, ANSWERS)
      for (const close of closing) close()
      return least
    })
    return { bytes: wanted, perAnswer }
  } finally {
    Object.assign(globalThis, light)
  }
}

async function served<T>(
  listeners: Readonly<Record<string, RequestListener>>,
  measure: (ports: Readonly<Record<string, number>>) => Promise<T>,
): Promise<T> {
  const ports: Record<string, number> = {}
  const servers = []
  for (const [name, listener] of Object.entries(listeners)) {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
    ports[name] = (server.address() as AddressInfo).port
  }
  try {
    return await measure(ports)
  } finally {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  }
}

async function requestBytes(): Promise<string> {
  const { headers, body } = requestFor(false)
  const text = await new Response(body).text()
  const lines = [...headers, ['host', 'localhost'], ['content-length', Buffer.byteLength(text)]].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

/** A client that costs next to nothing: one socket, on which answers of a known length follow each other. */
async function connection(port: number, request: string, bytes: number) {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  await once(socket, 'connect')
  let answered: (() => void) | undefined
  let had = Buffer.alloc(0)
  socket.on('data', (piece) => {
    had = had.length === 0 ? piece : Buffer.concat([had, piece])
    const head = had.indexOf('\r\n\r\n')
    if (head === -1 || had.length < head + 4 + bytes) return
    if (!had.toString('latin1', 0, head).startsWith('HTTP/1.1 200') || had.length > head + 4 + bytes)
      throw new Error(had.toString())
    had = Buffer.alloc(0)
    answered!()
  })
  const askOnce = () =>
    new Promise<undefined>((resolve) => {
      answered = () => resolve(undefined)
      socket.write(request)
    })
  return { ask: askOnce, close: () => socket.destroy() }
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
