import type { Llama, LlamaCppLibrary } from './library.js'
import type { LlamaCppOptions } from './options.js'

export type Hear = (message: string) => void

interface Shared {
  readonly opening: Promise<Llama>
  readonly hearers: Set<Hear>
}

/** By the library, then by what was asked of it. */
const opened = new WeakMap<LlamaCppLibrary, Map<string, Shared>>()

/** What llama.cpp says of faults, by node-llama-cpp's names. */
const FAULTS: ReadonlySet<string> = new Set(['fatal', 'error'])

/**
 * Llama.cpp, started once for all engines that ask the same of it: its native half has one ear for what it says, and who
 * ends a second one takes it from the first. Given back when the last has closed it.
 */
export async function openLlama(
  library: LlamaCppLibrary,
  { device, threads }: Pick<LlamaCppOptions, 'device' | 'threads'>,
  hear: Hear,
): Promise<{ llama: Llama; close: () => Promise<void> }> {
  const all = opened.get(library) ?? new Map<string, Shared>()
  opened.set(library, all)
  const key = `${device ?? 'auto'} ${threads ?? ''}`
  const shared = all.get(key) ?? start(library, device, threads)
  all.set(key, shared)
  const { hearers, opening } = shared
  hearers.add(hear)
  const leave = () => {
    hearers.delete(hear)
    if (hearers.size > 0 || all.get(key) !== shared) return false
    all.delete(key)
    return true
  }
  try {
    const llama = await opening
    return {
      llama,
      close: async () => {
        if (leave()) await llama.dispose()
      },
    }
  } catch (error) {
    leave()
    throw error
  }
}

function start(library: LlamaCppLibrary, device: LlamaCppOptions['device'], threads: number | undefined): Shared {
  const hearers = new Set<Hear>()
  const opening = library.getLlama({
    gpu: device === 'cpu' ? false : 'auto',
    // Nothing is compiled or downloaded in passing.
    build: 'never',
    skipDownload: true,
    logLevel: 'error',
    logger: (level, message) => {
      const text = message.trim()
      if (text !== '' && FAULTS.has(level)) for (const hear of hearers) hear(text)
    },
    ...(threads !== undefined && { maxThreads: threads }),
  })
  return { opening, hearers }
}
