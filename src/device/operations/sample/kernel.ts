/**
 * Sampling as `sampling.ts` defines it. A first kernel goes over the whole vocabulary in chunks, a second one lets all
 * tokens race where one is to be drawn, chunk by chunk too; a third, a workgroup for each row, chooses.
 */
import type { SampleRow, SamplerShape } from '../../contract.js'
import type { Recorder } from '../../gpu/kernels/kernel.js'
import type { SamplerBuffers } from '../define.js'
import { chooseKernel } from './choose.js'
import { CHUNK } from './chunks.js'
import { resultWords } from './job.js'
import { raceKernel } from './race.js'
import { scanKernel } from './scan.js'

/** Sizes in words. */
export function samplerSizes({ rows, tokens, slots }: SamplerShape) {
  const perChunk = rows * Math.ceil(tokens / CHUNK) * 4
  return { values: rows * tokens, parts: perChunk, races: perChunk, slots, results: resultWords(rows, true) }
}

/** Whether any of them draws by chance. */
export const drawsAny = (rows: readonly SampleRow[]): boolean => rows.some(({ temperature }) => temperature > 0)

export function dispatchSampling(
  pass: Recorder,
  shape: SamplerShape,
  logits: GPUBuffer,
  rows: readonly SampleRow[],
  { job, values, parts, races, slots, results }: SamplerBuffers,
): void {
  const { traits } = pass
  const chunks = Math.ceil(shape.tokens / CHUNK)
  pass.dispatch(scanKernel(shape, traits), [job, logits, values, parts], chunks, rows.length)
  if (drawsAny(rows)) {
    pass.dispatch(raceKernel(shape, traits), [job, values, parts, races], chunks, rows.length)
  }
  pass.dispatch(chooseKernel(shape, traits), [job, logits, values, parts, races, slots, results], rows.length)
}
