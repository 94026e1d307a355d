import { afterEach, expect, test, vi } from 'vitest'
import type { NanoFiles } from './nano-files.js'
import { buildWorker } from './worker.js'

const vite = vi.hoisted(() => ({ version: '', build: vi.fn(async (_: { build: object }) => ({ output: [] })) }))
vi.mock('vite', () => vite)
afterEach(() => vite.build.mockClear())

// Vite passes over what it does not know: an application would be built without its service worker, and nothing said.
test.each([
  ['7.3.8', { rollupOptions: { output: { entryFileNames: 'v1.js', inlineDynamicImports: true } } }],
  ['8.4.0', { rolldownOptions: { output: { entryFileNames: 'v1.js', codeSplitting: false } } }],
])('Vite %s is asked for one file in the options that it knows', async (version, options) => {
  vite.version = version
  const config = { root: '/app', base: '/', command: 'build', resolve: { alias: [] }, build: {} } as never
  await buildWorker(config, 'v1.js', 'v1.ts', {} as NanoFiles)
  const { build } = vite.build.mock.calls[0]![0]
  expect(build).toMatchObject(options)
  expect(Object.keys(build).filter((name) => /^roll/.test(name))).toEqual(Object.keys(options))
})
