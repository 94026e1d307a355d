import type { LoadProgress, V1 } from '../../src/index.js'

/** A download reports every piece; nobody looks more often than this. */
const EVERY_MS = 100

/** Tells pages how far a service's models are loaded. */
export function tellLoads(v1: V1, tell: (progress: LoadProgress) => void): void {
  let phase: string | undefined
  let told = 0
  v1.watchLoads((progress: LoadProgress) => {
    const step = `${progress.model} ${progress.phase}`
    const whole = progress.bytesLoaded >= progress.bytesTotal
    const now = performance.now()
    if (step === phase && !whole && now - told < EVERY_MS) return
    phase = step
    told = now
    tell(progress)
  })
}
