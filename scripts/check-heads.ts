/**
 * `npx tsx scripts/check-heads.ts [heads] [seed]`: damaged heads of models, so many of each format. Each is accepted or
 * refused by name, within a second and 300 MB, and none is accepted whose tensors overlap.
 */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const count = Number(process.argv[2] ?? 10_000)
const seed = Number(process.argv[3] ?? 1)
/** Beyond what an undamaged one takes; the code and the damaged files themselves are within it. */
const MEGABYTES = 300

const worker = new Worker(
  `import('tsx/esm/api').then(({ tsImport }) => tsImport(${JSON.stringify(fileURLToPath(new URL('heads/in-worker.ts', import.meta.url)))}, ${JSON.stringify(import.meta.url)}))`,
  { eval: true, workerData: { count, seed }, resourceLimits: { maxOldGenerationSizeMb: MEGABYTES } },
)
let last = 'nothing yet'
worker.on('message', ({ at, line }: { at?: string; line?: string }) => {
  if (at !== undefined) last = at
  if (line !== undefined) console.log(line)
})
worker.on('error', (error) => {
  console.error(`${error.message} at ${last}`)
  process.exitCode = 1
})
worker.on('exit', (code) => {
  if (code !== 0) process.exitCode = 1
})
