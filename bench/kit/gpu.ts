/** What the tests take for the software GPU is, in the kit, the GPU of the machine. */

import { DAWN_UNSAFE } from '../../src/platform/dawn.js'

/** For ever: Dawn crashes or hangs once what `create()` returned is garbage-collected. */
let gpu: Promise<GPU> | undefined

/** `main.ts` has chosen the driver by the environment in which this process was started. */
export async function useSwiftshader(): Promise<void> {}

export function softwareGpu(): Promise<GPU> {
  gpu ??= import('webgpu').then(({ create, globals }) => {
    Object.assign(globalThis, globals)
    // Against pages that spy, Dawn rounds timestamps to 65 us, which is longer than most dispatches take.
    return create(['disable-dawn-features=timestamp_quantization', DAWN_UNSAFE])
  })
  return gpu
}
