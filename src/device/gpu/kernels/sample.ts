/**
 * Sampling as `sampling.ts` defines it. A first kernel goes over the whole vocabulary in chunks, a second one lets all
 * tokens race where one is to be drawn, chunk by chunk too; a third, a workgroup for each row, chooses.
 */
import type { SampleRow, SamplerShape } from '../../contract.js'
import type { Recorder } from './kernel.js'
import { chooseKernel } from './sample-choose.js'
import { CHUNK } from './sample-chunks.js'
import { resultWords } from './sample-job.js'
import { raceKernel } from './sample-race.js'
import { scanKernel } from './sample-scan.js'

export interface SamplerBuffers {
  readonly job: GPUBuffer
  readonly values: GPUBuffer
  readonly parts: GPUBuffer
  readonly races: GPUBuffer
  readonly slots: GPUBuffer
  readonly results: GPUBuffer
}

/** Sizes in words. */
export function samplerSizes({ rows, tokens, slots }: SamplerShape) {
  const perChunk = rows * Math.ceil(tokens / CHUNK) * 4
  return { values: rows * tokens, parts: perChunk, races: perChunk, slots, results: resultWords(rows, true) }
}

export function sample(
  pass: Recorder,
  shape: SamplerShape,
  logits: GPUBuffer,
  rows: readonly SampleRow[],
  { job, values, parts, races, slots, results }: SamplerBuffers,
): void {
  const { traits } = pass
  const chunks = Math.ceil(shape.tokens / CHUNK)
  pass.dispatch(scanKernel(shape, traits), [job, logits, values, parts], chunks, rows.length)
  if (rows.some(({ temperature }) => temperature > 0)) {
    pass.dispatch(raceKernel(shape, traits), [job, values, parts, races], chunks, rows.length)
  }
  pass.dispatch(chooseKernel(shape, traits), [job, logits, values, parts, races, slots, results], rows.length)
}
