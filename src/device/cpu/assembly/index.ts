/** What the device calls, and the operations for tests. */

export { rowBF16, rowF16, rowF32, rowQ4 } from '../../operations/embed/assembly'
export { matmul } from '../../operations/matmul/assembly'
export { race, raceAbove } from './draw'
export { gateMul, rmsnorm, ropeHead } from './elementwise'
export { f16ToF32, f32ToF16 } from './half'
export { matmulQ4Exact } from './matmul-q4-exact'
export { packDense, packQ4 } from './pack'
export { packBlocks } from './pack-blocks'
export { quantize, scaleUp } from './prepare'
export { areFinite, forbid, greatest, idsAtLeast, sumExp } from './sample'
export { dismiss, fail, isSettled, run, runTogether, serve } from './team'
