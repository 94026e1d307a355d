import { HostLink } from './host-link.js'
import { type Broadcast, pagesLock, wrap } from './messages.js'

/** How often a host is called that does not answer yet: its page may be busy, or just being made. */
const CALL_MS = 250
/** Calls before a host that holds the lock is taken for frozen, and pages without one for unable to have one. */
const MAX_CALLS = 60
const PING_MS = 5000

/** Finds the one worker that runs the engine; a service worker that was restarted knows nothing of it. */
export class HostFinder {
  readonly #name: string
  readonly #channel: BroadcastChannel
  readonly #users = new Set<object>()
  #link: HostLink | undefined
  #opening: Promise<unknown> | undefined
  #finding: Promise<HostLink | undefined> | undefined
  #arrived: () => void = () => {}
  /** The host holds its lock and says nothing. */
  #frozen = false
  #pings: ReturnType<typeof setInterval> | undefined

  constructor(name: string, channel: BroadcastChannel) {
    this.#name = name
    this.#channel = channel
  }

  /** The link to the host; undefined where no tab holds one. */
  async find(): Promise<HostLink | undefined> {
    if (this.#link?.open) return this.#link
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  /** A page brings a port to its worker. */
  async take(host: string, port: MessagePort): Promise<void> {
    await this.#opening
    // It has answered more than one call, or was frozen and does not know yet that another took its place.
    if (this.#link?.open) return port.close()
    const opening = HostLink.open(this.#name, { host, held: true }, port).then((link) => {
      this.#link = link
      this.#frozen = false
      this.#arrived()
    })
    this.#opening = opening
    await opening
  }

  noteAlive(host: string | undefined): void {
    if (host !== undefined && host === this.#link?.host) this.#link.noteAlive()
  }

  /**
   * While anyone waits, pages are pinged. Their answers show that the host's page is alive, and keep the browser from
   * ending this service worker for idleness: only events do, not what comes over a port.
   */
  keepAlive(user: object): () => void {
    this.#users.add(user)
    this.#pings ??= setInterval(() => {
      if (this.#link?.ping() === 'silent') {
        this.#frozen = true
        this.#link.lose()
      }
      this.#say({ type: 'ping' })
    }, PING_MS)
    return () => {
      this.#users.delete(user)
      if (this.#users.size > 0) return
      clearInterval(this.#pings)
      this.#pings = undefined
    }
  }

  async #find(): Promise<HostLink | undefined> {
    let tookOver = false
    for (let calls = 0; ; calls++) {
      const { held, waiting, pages } = await this.#look()
      const patient = calls < MAX_CALLS
      if (!held && !waiting && !(pages && patient)) return undefined
      if (!patient) this.#frozen = true
      if (this.#frozen && (!tookOver || !patient)) {
        if (tookOver || !waiting) return undefined
        tookOver = true
        calls = 0
        this.#say({ type: 'take-over' })
      }
      const arrival = new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
      this.#say({ type: 'seek' })
      await Promise.race([arrival, new Promise((resolve) => setTimeout(resolve, CALL_MS))])
      if (this.#link?.open) return this.#link
    }
  }

  /** Whether there is a host, one that waits to be it, and a page that may be starting one. */
  async #look(): Promise<{ held: boolean; waiting: boolean; pages: boolean }> {
    const { held = [], pending = [] } = await navigator.locks.query()
    const has = (locks: readonly LockInfo[], wanted: string) => locks.some(({ name }) => name === wanted)
    return {
      held: has(held, this.#name),
      waiting: has(pending, this.#name),
      pages: has(held, pagesLock(this.#name)),
    }
  }

  #say(message: Broadcast): void {
    this.#channel.postMessage(wrap(message))
  }
}
