import type { LoadProgress } from '../../src/index.js'
import type { Routed } from './pages-alone.js'

/** A download reports every piece; nobody looks more often than this. */
const EVERY_MS = 100

/** Tells pages how far a service's models are loaded. */
export function tellLoads(v1: Routed, tell: (progress: LoadProgress) => void): void {
  let phase: string | undefined
  let reportedAt = 0
  v1.watchLoads((progress: LoadProgress) => {
    const step = `${progress.model} ${progress.phase}`
    const whole = progress.bytesLoaded >= progress.bytesTotal
    const now = performance.now()
    if (step === phase && !whole && now - reportedAt < EVERY_MS) return
    phase = step
    reportedAt = now
    tell(progress)
  })
}
