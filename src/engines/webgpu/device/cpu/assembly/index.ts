/** What the device calls, and the operations for tests. */
export { attendHead, writeKeyValue } from './attention'
export { rmsnorm, ropeHead, siluMul } from './elementwise'
export { rowBF16, rowF16, rowF32, rowQ4 } from './embed'
export { matmul } from './matmul'
export { matmulQ4Exact, matmulQ4x1, matmulQ4x4 } from './matmul-q4'
export { packDense, packQ4, quantize, scaleUp } from './prepare'
export { dismiss, run, serve } from './team'
