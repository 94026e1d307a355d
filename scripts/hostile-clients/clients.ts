/** Ways to ask: to the end, half of it, to leave before there is an answer, to read nothing of it. */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { type Time, Watch } from './ready.js'
import type { Server } from './server.js'

/** After this a request is given up. */
const ANSWER_MS = 30_000

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export interface Outcome {
  /** 0: no answer came. */
  readonly status: number
  readonly text: string
  readonly time: Time
}

export interface Asked {
  readonly path: string
  readonly body?: object
  readonly method?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

const under = new Set<ClientRequest>()

/** Leaves whatever is still asked: an attack that is called off is over, and what it had sent no longer in use. */
export function leaveAll(): void {
  for (const sent of under) sent.destroy()
}

/** A request that is left open for the caller to do with as it likes. */
export function open(server: Server, { path, body, method, key = server.flooder, headers }: Asked): ClientRequest {
  const sent = request(`${server.origin}/v1${path}`, {
    agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    method: method ?? (body === undefined ? 'GET' : 'POST'),
  })
  under.add(sent)
  return sent.once('close', () => under.delete(sent))
}

export function ask(server: Server, call: Asked): Promise<Outcome> {
  const watch = new Watch(server.pid).start()
  return new Promise((resolve) => {
    const settle = (status: number, text = '') => {
      clearTimeout(late)
      resolve({ status, text, time: watch.ms })
    }
    const sent = open(server, call)
    const late = setTimeout(() => {
      settle(0)
      sent.destroy()
    }, ANSWER_MS)
    sent.once('error', () => settle(0))
    sent.once('response', (response: IncomingMessage) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      response.once('end', () => settle(response.statusCode!, text)).once('error', () => settle(0))
    })
    sent.end(call.body && JSON.stringify(call.body))
  })
}

export const all = (count: number, one: (i: number) => Promise<Outcome>): Promise<Outcome[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)))

/** So many that are sent and left again within these milliseconds. */
export async function left(server: Server, count: number, ms: number, of: (i: number) => Asked): Promise<Outcome[]> {
  const gone = Array.from({ length: count }, (_, i) => {
    const call = of(i)
    const sent = open(server, call).on('error', () => {})
    sent.on('response', (response) => response.resume().on('error', () => {}))
    sent.end(JSON.stringify(call.body))
    return sent
  })
  await pause(ms)
  for (const sent of gone) sent.destroy()
  return []
}

/** Streams of which nothing is read, for so long. */
export async function unread(server: Server, count: number, ms: number, { path, body }: Asked): Promise<Outcome[]> {
  const { hostname, port } = new URL(server.origin)
  const text = JSON.stringify(body)
  const head = [
    `POST /v1${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${server.flooder}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.pause()
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
    return socket
  })
  await pause(ms)
  for (const socket of sockets) socket.destroy()
  return []
}
