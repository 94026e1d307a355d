/** Takes a lock and keeps it until `signal` aborts, or this page or worker ends, however it ends. */
export function holdLock(name: string, signal?: AbortSignal, mode: LockMode = 'exclusive'): Promise<void> {
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, { mode }, () => {
        resolve()
        return new Promise<void>((release) => {
          if (signal?.aborted) release()
          signal?.addEventListener('abort', () => release(), { once: true })
        })
      })
      .catch(reject)
  })
}

/** Calls `then` once whoever holds the lock is gone; never after `signal` has aborted. */
export function whenGone(name: string, signal: AbortSignal, then: () => void): void {
  navigator.locks
    .request(name, { mode: 'shared', signal }, () => {
      if (!signal.aborted) then()
    })
    .catch(() => {})
}
