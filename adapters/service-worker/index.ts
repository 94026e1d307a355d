export { type ClientOptions, type Installed, type InstallOptions, install } from './install.js'
export type { Address } from './registration.js'
export { type ServiceWorkerOptions, type ServiceWorkerPart, serviceWorker } from './service-worker.js'
export type { WebGpuState } from './webgpu-state.js'
