/** One end of a line between two threads. */
export interface Port {
  post(message: unknown): void
  listen(listener: (message: unknown) => void): void
  /** Tells that the other end is gone, where the platform knows. */
  whenGone(listener: () => void): void
  close(): void
}

/** What browsers, Deno and Node have for it: a MessagePort, a Worker, the inside of a worker. */
export interface MessageTarget {
  postMessage(message: unknown): void
  on?(event: 'message' | 'close', listener: (data: unknown) => void): unknown
  off?(event: 'message', listener: (data: unknown) => void): unknown
  addEventListener?(event: string, listener: (event: Event) => void): void
  removeEventListener?(event: string, listener: (event: Event) => void): void
  start?(): void
  close?(): void
}

export interface WorkerThread extends MessageTarget {
  postMessage(message: unknown, transfer?: readonly MessagePort[]): void
  terminate(): unknown
  readonly threadId?: number
  ref?(): void
  unref?(): void
  once?(event: 'error' | 'exit', listener: (value: unknown) => void): void
  onerror?: unknown
  readonly stdout?: { resume(): void } | null
}

export function portOf(target: MessageTarget): Port {
  let stop = () => {}
  return {
    post: (message) => target.postMessage(message),
    listen(listener) {
      stop()
      // Node's workers know only `on`, which hands over the data itself.
      if (target.on) {
        target.on('message', listener)
        stop = () => target.off?.('message', listener)
      } else {
        const take = (event: Event) => listener((event as MessageEvent).data)
        target.addEventListener?.('message', take)
        stop = () => target.removeEventListener?.('message', take)
        target.start?.()
      }
    },
    whenGone(listener) {
      if (target.on) target.on('close', listener)
      else target.addEventListener?.('close', listener)
    },
    close() {
      stop()
      target.close?.()
    },
  }
}
