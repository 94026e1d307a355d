import type { DevicePreference } from '../engines/index.js'
import type { CacheTypeChoice } from '../platform/index.js'

/** The same for every command that runs a model of our own core. */
export const REVECTORIZE = [
  '--revectorize',
  'compile kernels of the CPU device in 256 bits before the first answer, by an experiment of V8 (Node 24 to 26 on x64)',
] as const

export interface EngineOptions {
  readonly model?: readonly string[]
  readonly engine?: 'webgpu' | 'webllm' | 'llama-cpp'
  /** WebLLM's: a compiled library, and the module of another version than the installed one. */
  readonly lib?: string
  readonly webllm?: string
  readonly device: DevicePreference
  readonly cache?: string
  /** Of our own core's models. */
  readonly cacheType?: CacheTypeChoice
  /** Of our own core's CPU device. */
  readonly revectorize?: boolean
  /** A smaller model that guesses what the first `model` says. */
  readonly draft?: string
  readonly upstream?: string
  /**
   * Hears which device was taken and why.
   * @default a note on stderr
   */
  readonly log?: (message: string) => void
}
