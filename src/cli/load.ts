import process from 'node:process'
import type { V1 } from '../service/index.js'
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
