/** Kernels in 256 bits: an experiment of V8 joins two operations of 128 bits into one, if its flag is set while it compiles. */
import { builtin } from '../../platform/index.js'
import { type KernelVariant, kernelBytes } from './wasm.js'

/** The V8 of Node 24, 25 and 26, with which it was tried: one that fails at it ends the process. Electron has others. */
const TRIED = /^(13\.6|14\.1|14\.6)\..*-node\b/

/**
 * Each with what takes it back. Code must be made at once, and made well: what is compiled later has not the flag. Code that
 * can be taken back needs to have run before.
 */
const FLAGS = [
  ['--experimental-wasm-revectorize', '--no-experimental-wasm-revectorize'],
  ['--no-liftoff', '--liftoff'],
  ['--no-wasm-lazy-compilation', '--wasm-lazy-compilation'],
  ['--no-wasm-deopt', '--wasm-deopt'],
] as const

/** A section of no meaning, named `256`. V8 would have the code of a module of the same bytes anew, as it was compiled first. */
const OTHER_BYTES = [0, 4, 3, 50, 53, 54]

interface V8 {
  setFlagsFromString(flag: string): void
  /** Another number for other flags, too. */
  cachedDataVersionTag(): number
}

interface Host {
  readonly arch?: string
  readonly versions?: Readonly<Record<string, string | undefined>>
}

const v8 = () => builtin<V8>('node:v8')

/** What is needed to have it, and what is here; undefined: it is here. */
export function revectorizeRefusal(): string | undefined {
  const { process, Deno, Bun } = globalThis as { process?: Host; Deno?: unknown; Bun?: unknown }
  const needed = (here: string) => `Node 24 to 26 on x64 (this is ${here})`
  if (Deno !== undefined) return needed('Deno')
  if (Bun !== undefined) return needed('Bun')
  const { node, v8: version = '' } = process?.versions ?? {}
  if (node === undefined || !v8()) return needed('no Node')
  const has = TRIED.test(version) && process?.arch === 'x64'
  return has ? undefined : needed(`Node ${node} with V8 ${version} on ${process?.arch}`)
}

/** `later`: where it can be had, by a device that computes already, once it was tried. Nobody waits for it. */
export type Revectorize = boolean | 'later'

/** Refuses what code without types may say, and what cannot be had here; `of`: whose option it is. */
export function assertRevectorize(of: string, revectorize: unknown): void {
  if (revectorize === undefined || revectorize === false || revectorize === 'later') return
  if (revectorize !== true) {
    throw new TypeError(`${of}: 'revectorize' can be true, false or 'later'; this one is "${String(revectorize)}".`)
  }
  const refusal = revectorizeRefusal()
  if (refusal !== undefined)
    throw new TypeError(`${of}: 'revectorize' needs ${refusal}. Use such a Node, or leave it out.`)
}

/**
 * Sets the flags while `make` runs, and takes back those that were not set before. They are those of the whole process:
 * what another thread compiles meanwhile is compiled more slowly, and may be in 256 bits too.
 */
function underFlags<T>(make: () => T): T {
  const { setFlagsFromString, cachedDataVersionTag } = v8()!
  const back: string[] = []
  try {
    for (const [on, off] of FLAGS) {
      const before = cachedDataVersionTag()
      setFlagsFromString(on)
      if (cachedDataVersionTag() !== before) back.unshift(off)
    }
    return make()
  } finally {
    for (const flag of back) setFlagsFromString(flag)
  }
}

/** Takes about a tenth of a second, in which this thread does nothing else: that way nothing of it is compiled later. */
export function compileRevectorized(variant: KernelVariant, shared: boolean): WebAssembly.Module {
  const bytes = kernelBytes(variant, shared)
  const binary = new Uint8Array(bytes.length + OTHER_BYTES.length)
  binary.set(bytes)
  binary.set(OTHER_BYTES, bytes.length)
  return underFlags(() => new WebAssembly.Module(binary))
}
