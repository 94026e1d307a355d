/** Has a device that computes already go on in 256 bits: nobody waits until they are compiled and tried. */
import type { CpuDevice } from './device.js'
import type { RevectorizeTrial } from './revectorize-trial.js'

/** Milliseconds without a pass after which it is tried, as the thread does nothing else meanwhile; and at the latest. */
const QUIET = 1000
const LATEST = 30_000
/** Milliseconds between two looks. */
const LOOK = 250

/** Returns what gives it up. */
export function widenLater(device: CpuDevice, tried: () => Promise<RevectorizeTrial>, name: string): () => void {
  const began = performance.now()
  const look = () => {
    if (device.quiet < QUIET && performance.now() - began < LATEST) return
    clearInterval(timer)
    // What fails leaves the device as it was.
    void tried()
      .then(({ module }) => module && device.adopt(module, name))
      .catch(() => {})
  }
  const timer = setInterval(look, LOOK)
  // In Node, as nothing else has these kernels.
  ;(timer as unknown as { unref(): void }).unref()
  return () => clearInterval(timer)
}
