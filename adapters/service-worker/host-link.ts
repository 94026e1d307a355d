import { HostExchange } from './exchange.js'
import { holdLock, whenGone } from './locks.js'
import { type EngineWorker, type FromHost, hostLock, linkLock, type PassedRequest, type ToHost } from './messages.js'

/** Pings that may go unanswered, by the host and by its page, while somebody waits. */
const MAX_SILENCE = 3

/** The service worker's end of a link to the worker that runs the engine. */
export class HostLink {
  readonly host: string
  readonly #port: MessagePort
  readonly #exchanges = new Map<number, HostExchange>()
  readonly #open = new AbortController()
  #last = 0
  #silence = 0

  private constructor(host: string, port: MessagePort) {
    this.host = host
    this.#port = port
    port.onmessage = ({ data }: MessageEvent<FromHost>) => {
      this.#silence = 0
      if (data.type !== 'pong') this.#exchanges.get(data.id)?.take(data)
    }
    port.addEventListener('close', () => this.lose())
  }

  /** Settles once each side will hear of the other's end, which frees its lock; where there are locks. */
  static async open(name: string, { host, held }: EngineWorker, port: MessagePort): Promise<HostLink> {
    const link = new HostLink(host, port)
    if (!held) return link
    const id = crypto.randomUUID()
    try {
      await holdLock(linkLock(name, id), link.#open.signal)
    } catch {
      // Locks are refused here: a worker of this page's own ends with it in any case.
      return link
    }
    link.#send({ type: 'hello', link: id })
    whenGone(hostLock(name, host), link.#open.signal, () => link.lose())
    return link
  }

  /** Whether anyone waits for an answer. */
  get busy(): boolean {
    return this.#exchanges.size > 0
  }

  get open(): boolean {
    return !this.#open.signal.aborted
  }

  /** The answer; undefined when the host was lost before it had begun. */
  ask(request: PassedRequest, signal: AbortSignal): Promise<Response | undefined> {
    return this.#ask((id) => this.#send({ type: 'request', id, ...request }), signal)
  }

  /** Hands the host a page's port; false when the host was lost meanwhile. */
  async introduce(port: MessagePort): Promise<boolean> {
    const send = (id: number) => this.#port.postMessage({ type: 'guest', id } satisfies ToHost, [port])
    return (await this.#ask(send, new AbortController().signal)) !== undefined
  }

  async #ask(send: (id: number) => void, signal: AbortSignal): Promise<Response | undefined> {
    const id = this.#last++
    const exchange = new HostExchange({
      pull: () => this.#send({ type: 'pull', id }),
      abort: () => this.#send({ type: 'abort', id }),
      over: () => this.#exchanges.delete(id),
    })
    if (this.#exchanges.size === 0) this.#silence = 0
    this.#exchanges.set(id, exchange)
    send(id)
    const leave = () => exchange.leave()
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await exchange.response
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Asks for a sign of life where somebody waits, and says whether there has been none for too long. */
  ping(): 'silent' | undefined {
    if (!this.open || this.#exchanges.size === 0) return undefined
    // Counted in pings, not by the clock, which goes on while the device sleeps.
    if (++this.#silence > MAX_SILENCE) return 'silent'
    this.#send({ type: 'ping' })
    return undefined
  }

  /** Its page is there: the worker may be computing. */
  noteAlive(): void {
    this.#silence = 0
  }

  lose(): void {
    if (!this.open) return
    this.#open.abort()
    for (const exchange of [...this.#exchanges.values()]) exchange.lose()
    this.#port.close()
  }

  #send(message: ToHost): void {
    this.#port.postMessage(message)
  }
}
