import type { SampleRow } from '../../contract/batch.js'
import type { Activations, Sampler } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { dispatchSampling, drawsAny } from './kernel.js'

/** Samples the first rows of `logits`, one for each of `rows`. At most once per pass; leaves the logits alone. */
export const sample = defineOperation({
  name: 'sample',
  fit(_batch: BatchShape, sampler: Sampler, logits: Activations, rows: readonly SampleRow[]) {
    atLeast('Logits of a row', logits.columns, sampler.shape.vocabulary)
    atLeast('Rows of logits', logits.rows, rows.length)
    atLeast('Rows that are sampled', sampler.shape.rows, rows.length)
  },
  gpu(pass, sampler, logits, rows) {
    const buffers = pass.sampling(sampler, rows)
    const facts = [logits, rows.length, drawsAny(rows), buffers.job]
    pass.repeat(sampler, facts, () => dispatchSampling(pass, sampler.shape, pass.buffer(logits), rows, buffers))
  },
  // It is no part of a program: the device chooses in doubles, among the few tokens that `cpu/assembly/sample.ts` finds.
  cpu(pass, sampler, logits, rows) {
    pass.sample(sampler, logits, rows)
  },
  cost: (_batch, sampler, _logits, rows) => ({ logits: rows.length * sampler.shape.tokens * 4 }),
})
