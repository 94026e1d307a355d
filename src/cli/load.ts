import process from 'node:process'
import type { Engine } from '../contract/index.js'
import { createV1, type V1 } from '../service/index.js'
import { progressReporter } from './terminal.js'

/** Loads a model, and shows how far it is; Ctrl-C ends it. */
export async function load(v1: V1, model: string): Promise<void> {
  const progress = progressReporter()
  const interrupt = new AbortController()
  const stop = () => interrupt.abort()
  process.once('SIGINT', stop)
  try {
    await v1.load(model, progress.report, interrupt.signal)
  } finally {
    process.off('SIGINT', stop)
    progress.stop()
  }
}

/** For who asks from a terminal, and ends with Ctrl-C what takes too long. */
export const ownV1 = (engine: Engine): V1 =>
  createV1({ engine, keys: 'none', loadWaitMs: Number.POSITIVE_INFINITY, timeoutMs: Number.POSITIVE_INFINITY })

/** Loads a model and asks it at once: what is asked is compiled beside the weights. If it cannot be loaded, that is the error. */
export async function loadAndAsk<T>(v1: V1, model: string, ask: () => Promise<T>): Promise<T> {
  const loading = load(v1, model)
  const asked = ask()
  asked.catch(() => {})
  await loading
  return asked
}
