import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import process from 'node:process'
import { atMost } from '../platform/index.js'
import type { V1 } from '../service/index.js'
import { watchLauncher } from './launcher.js'
import { note, paint } from './terminal.js'

/** For who is cut off to be told and counted, and for the ledger and the engine to be closed. */
const LAST_MS = 900

/** The last is what a terminal sends that is closed, or a connection to it that breaks. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** npm passes on the Ctrl-C that the terminal has sent to us already. */
const SAME_SIGNAL_MS = 500

export interface Ending {
  /** A signal has come. */
  readonly begun: boolean
  /** Answers and connections are at their end, and all is closed; the process may go. */
  readonly done: Promise<void>
}

/**
 * Ends the server at a signal: new requests are refused, running answers may end within `graceMs`, and whoever has sent
 * nothing or half a request is hung up on. Then the process ends with 0; a second signal ends it at once.
 */
export function stopOnSignal(server: Server, v1: V1, graceMs: number): Ending {
  const connections = new Connections(server)
  let begun: number | undefined
  let finish = () => {}
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  const stop = () => {
    begun = performance.now()
    void end(server, connections, v1, graceMs).then(finish)
  }
  const signalled = (signal: NodeJS.Signals) => {
    if (begun === undefined) {
      note(paint('dim', `Running answers have ${graceMs / 1000} s to finish. A second signal stops at once.`))
      stop()
    } else if (performance.now() - begun > SAME_SIGNAL_MS) process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.on(signal, signalled)
  watchLauncher(() => {
    if (begun !== undefined) return
    note(paint('dim', 'The process that started local-v1 has ended, so local-v1 ends too.'))
    stop()
  })
  void done.then(() => process.exit(0))
  return {
    get begun() {
      return begun !== undefined
    },
    done,
  }
}

async function end(server: Server, connections: Connections, v1: V1, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
  connections.leaveSilent()
  const cut = new AbortController()
  const service = v1.close(cut.signal).then(
    // Who is still sending would be told that it is closed.
    () => connections.leaveUnanswered(),
    (error: unknown) => note(paint('red', `The service could not be closed: ${error}`)),
  )
  const all = Promise.all([closed, service])
  await atMost(graceMs, all)
  cut.abort()
  await atMost(LAST_MS, all)
  // Who does not read what it is told keeps nobody.
  server.closeAllConnections()
  await atMost(LAST_MS, all)
}

/** What each connection waits for. */
class Connections {
  readonly #last = new Map<Socket, { request: IncomingMessage; response: ServerResponse } | undefined>()
  #ending = false

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#last.set(socket, undefined)
      socket.once('close', () => this.#last.delete(socket))
    })
    server.on('request', (request, response) => {
      const { socket } = request
      const exchange = { request, response }
      this.#last.set(socket, exchange)
      if (this.#ending) response.shouldKeepAlive = false
      response.once('close', () => {
        if (this.#last.get(socket) !== exchange) return
        this.#last.set(socket, undefined)
        if (this.#ending) socket.destroySoon()
      })
    })
  }

  /** Hangs up on those with nothing to answer: between requests, or before the end of a head. */
  leaveSilent(): void {
    this.#ending = true
    for (const [socket, exchange] of this.#last) {
      if (!exchange) socket.destroy()
      // It says so to the client where it still can.
      else exchange.response.shouldKeepAlive = false
    }
  }

  /** Hangs up on those whose request is not whole. */
  leaveUnanswered(): void {
    for (const [socket, exchange] of this.#last) {
      if (exchange && !exchange.request.complete && !exchange.response.headersSent) socket.destroy()
    }
  }
}
