import { useEffect, useRef } from 'react'
import type { Target } from '../client/endpoint.js'

/** The newest value, for what is called later than it was made. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value)
  latest.current = value
  return latest
}

/** What of a target makes it another: an address that is written in place is a new object with every render. */
export const keyOfTarget = (target: Target | undefined): unknown =>
  target && 'baseURL' in target ? `${target.baseURL} ${target.apiKey}` : target

export interface Turns {
  /** Ends the one before. */
  begin(): AbortController
  /** `whenLast` is called unless another has begun since, or the component is gone. */
  end(turn: AbortController, whenLast: () => void): void
  stop(): void
}

/** One request at a time: the next one ends the one before, and so does leaving the page. */
export function useOneAtATime(): Turns {
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const turns = useRef<Turns>(undefined)
  turns.current ??= {
    begin() {
      running.current?.abort()
      running.current = new AbortController()
      return running.current
    },
    end(turn, whenLast) {
      if (running.current !== turn) return
      running.current = undefined
      whenLast()
    },
    stop: () => running.current?.abort(),
  }
  return turns.current
}

/** Rejects as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    const leave = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
  })
}
