import { cpSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

// The embedded model is served with the application; models at Hugging Face need no such line.
const nano = dirname(fileURLToPath(import.meta.resolve('local-v1-nano')))
cpSync(nano, fileURLToPath(new URL('public/models/nano', import.meta.url)), {
  recursive: true,
  filter: (path) => !/[\\/](recipe|eval|node_modules)$/.test(path),
})

// `vite build` makes the page, `vite build --mode v1` then the worker: one file, since a service worker cannot import()
// what it needs later.
export default defineConfig(({ mode }) => ({
  build:
    mode === 'v1'
      ? {
          emptyOutDir: false,
          copyPublicDir: false,
          chunkSizeWarningLimit: 2000,
          rolldownOptions: {
            input: 'v1.ts',
            output: { entryFileNames: 'v1.js', codeSplitting: false },
          },
        }
      : {},
}))
