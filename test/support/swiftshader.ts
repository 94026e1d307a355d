import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FULL } from './full.js'
import { unpack } from './unpack.js'

const RTLD_NODELETE = 0x1000

/**
 * What SwiftShader need not compile. It compiles a store for every word of workgroup memory that is cleared, which is nearly
 * all of the two seconds it takes for a product of many rows. Every browser clears it: what counts on that would be right
 * there, and fail here. So would what counts on indices being held within their arrays, for a fifth of the time of the rest.
 */
const FEATURES = ['disable_workgroup_init', ...(FULL ? [] : ['disable_robustness'])]
/** Another GPU may have what is behind a flag: matrices that subgroups multiply. */
const ASKED = process.env.LOCAL_V1_VULKAN ? ['allow_unsafe_apis'] : FEATURES
export const DAWN_FLAGS = [`enable-dawn-features=${ASKED.join(',')}`]

const QUICK_DAWN = fileURLToPath(new URL('./quick-dawn.cjs', import.meta.url))
const quick = createRequire(import.meta.url)(QUICK_DAWN) as {
  lookSeldom(): void
  openWith(features: readonly string[]): void
}

let prepared: Promise<void> | undefined
// For ever: Dawn crashes or hangs once what `create()` returned is garbage-collected.
let gpu: Promise<GPU> | undefined

/**
 * The environment in which a program (Deno, Chromium) finds SwiftShader as its only Vulkan device, or the one whose
 * manifest LOCAL_V1_VULKAN names: another software GPU (Mesa's lavapipe has shader-f16), or a real one.
 */
export async function swiftshaderEnv(): Promise<Record<string, string>> {
  const folder = await unpack('swiftshader')
  const icd = process.env.LOCAL_V1_VULKAN || join(folder, 'vk_swiftshader_icd.json')
  return { VK_DRIVER_FILES: icd, VK_ICD_FILENAMES: icd, LD_LIBRARY_PATH: folder }
}

/** The same for programs that are Node and under test: their Dawn waits as ours does, and compiles as little. */
export async function quickSwiftshaderEnv(): Promise<Record<string, string>> {
  const LOCAL_V1_DAWN_FEATURES = process.env.LOCAL_V1_VULKAN ? '' : FEATURES.join(',')
  return {
    ...(await swiftshaderEnv()),
    LOCAL_V1_DAWN_FEATURES,
    NODE_OPTIONS: `--require ${JSON.stringify(QUICK_DAWN)}`,
  }
}

/** Puts SwiftShader where the npm package `webgpu` finds it, in this process. Call it before `webgpu` is imported. */
export function useSwiftshader(): Promise<void> {
  prepared ??= (async () => {
    quick.lookSeldom()
    // What is measured has all that Dawn does; `softwareGpu` asks for these by itself.
    if (process.env.VITEST && !process.env.LOCAL_V1_VULKAN) quick.openWith(FEATURES)
    const env = await swiftshaderEnv()
    process.env.VK_DRIVER_FILES = env.VK_DRIVER_FILES
    process.env.VK_ICD_FILENAMES = env.VK_ICD_FILENAMES
    // Programs that are started from here find the loader by it, as the one that looks for an adapter does.
    process.env.LD_LIBRARY_PATH = env.LD_LIBRARY_PATH
    const loader = join(env.LD_LIBRARY_PATH!, 'libvulkan.so.1')
    const { RTLD_NOW, RTLD_GLOBAL } = constants.dlopen
    try {
      process.dlopen({ exports: {} }, loader, RTLD_NOW! | RTLD_GLOBAL! | RTLD_NODELETE)
    } catch (error) {
      // The library is loaded all the same; Node only misses an addon in it.
      if (!/self-register/.test(String(error))) throw error
    }
  })()
  return prepared
}

/**
 * A GPU in software for tests in Node, from npm packages alone. Also sets `GPUBufferUsage` and the other WebGPU
 * globals, which a browser has. One per process.
 */
export function softwareGpu(): Promise<GPU> {
  gpu ??= (async () => {
    await useSwiftshader()
    const { create, globals } = await import('webgpu')
    Object.assign(globalThis, globals)
    return create(DAWN_FLAGS)
  })()
  return gpu
}
