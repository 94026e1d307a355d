/** The door of this room. What computes: tensors, operations, the GPU and its twin, the CPU. */
export {
  type Activations,
  type Batch,
  type CacheShape,
  type Device,
  type DeviceInfo,
  type DeviceLimits,
  type Gate,
  type KeyValueCache,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type MatrixShape,
  NO_STATE,
  PAGE,
  type Pass,
  type PlainFormat,
  Q4_BLOCK,
  type ReadingRoom,
  type Routing,
  rowBytes,
  type SampleRow,
  type Sampler,
  type Span,
  type SpanState,
  type States,
  slotToken,
  type Vector,
} from './contract.js'
export { openCpuDevice, tryRevectorize } from './cpu/index.js'
export { assertRevectorize } from './cpu/revectorize.js'
export { becomeThread } from './cpu/start-thread.js'
export { openWebGpuDevice } from './gpu/index.js'
export { addNorm, type Centring } from './operations/add-norm/index.js'
export { attend } from './operations/attend/index.js'
export { combineExperts } from './operations/combine-experts/index.js'
export { convolve, MAX_TAPS } from './operations/convolve/index.js'
export { delta } from './operations/delta/index.js'
export { embed } from './operations/embed/index.js'
export { expertMatmul } from './operations/expert-matmul/index.js'
export { gate } from './operations/gate/index.js'
export { gatherRows } from './operations/gather-rows/index.js'
export { type MatmulOptions, matmul } from './operations/matmul/index.js'
export { pool } from './operations/pool/index.js'
export { rope } from './operations/rope/index.js'
export type { Growth } from './operations/rope/rotation.js'
export { sample } from './operations/sample/index.js'
export { tokenShift } from './operations/token-shift/index.js'
export { type TopKExpertsOptions, topKExperts } from './operations/top-k-experts/index.js'
export { xielu } from './operations/xielu/index.js'
export { logSumExp, needsAll, sampleRow, uncut } from './sampling.js'
