/** Takes a lock and keeps it until `signal` aborts, or this page or worker ends, however it ends. */
export function holdLock(name: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, () => {
        resolve()
        return new Promise<void>((release) => signal?.addEventListener('abort', () => release(), { once: true }))
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

export interface LockState {
  readonly held: boolean
  readonly waiting: boolean
}

export async function lockState(name: string): Promise<LockState> {
  const { held = [], pending = [] } = await navigator.locks.query()
  const named = (lock: LockInfo) => lock.name === name
  return { held: held.some(named), waiting: pending.some(named) }
}
