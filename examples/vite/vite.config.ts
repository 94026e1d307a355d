import { localV1 } from 'local-v1/vite'
import { defineConfig } from 'vite'

export default defineConfig({ plugins: [localV1({ worker: 'v1.ts' })] })
