/** All that a page without a bundler takes, built as one file. */

export { webgpu } from '../src/engines/webgpu/index.js'
export * from '../src/index.js'
export * from './service-worker/index.js'
