export interface LinkedAbort {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Lets go of the sources and the clock; the signal stays as it is. */
  dispose(): void
}

/**
 * One signal for the client's disconnect, the time limit and whoever calls `abort`; `aborted` hears of the first two.
 * `AbortSignal.any` would do, but it keeps a listener on each source for as long as that source lives.
 */
export function linkAbort(
  source: AbortSignal,
  timeoutMs: number | undefined,
  timedOut: () => unknown,
  aborted: (reason: unknown) => void,
): LinkedAbort {
  const controller = new AbortController()
  const end = (reason: unknown) => {
    controller.abort(reason)
    aborted(reason)
  }
  const follow = () => end(source.reason)
  if (source.aborted) controller.abort(source.reason)
  else source.addEventListener('abort', follow, { once: true })
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(timedOut()), timeoutMs)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    dispose() {
      source.removeEventListener('abort', follow)
      clearTimeout(timer)
    },
  }
}
