import type { RepositoryFiles, WantedFile } from './files.js'
import { type LoadReport, Meter } from './progress.js'

/** Files under way at once: enough to fill a line, few enough that a break costs little. */
const PARALLEL = 4

/** Makes all files ready, several at once. The first failure ends the others. */
export async function fetchAll(
  files: RepositoryFiles,
  wanted: readonly WantedFile[],
  report: LoadReport,
  signal: AbortSignal,
): Promise<void> {
  const total = wanted.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
  const meter = new Meter((progress) => report({ phase: files.phase, ...progress }), total, wanted.length)
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const line = [...wanted]
  const work = async () => {
    for (let file = line.shift(); file; file = line.shift()) {
      await files.fetch(file, (bytes) => meter.add(bytes), either)
      meter.fileDone()
    }
  }
  const workers = Array.from({ length: PARALLEL }, work)
  await Promise.all(workers).catch(async (error: unknown) => {
    failed.abort(error)
    // Their files are closed before the failure is told.
    await Promise.allSettled(workers)
    throw error
  })
}
