import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** What takes long, by what it needs. Everything else is `unit`. */
const SLOW = {
  structured: ['src/grammar/**', 'scripts/{masks,written}.test.ts'],
  gpu: [
    ...['src/device/**', 'src/models/{architectures,blocks,encoders,pointing}/**', 'src/models/*.test.ts'],
    'src/engines/webgpu/**',
    'scripts/models/**',
  ],
  clients: [
    ...['src/cli/**', 'src/engines/{remote,llama-cpp}/**', 'src/engines/webllm/*.test.ts', 'test/clients/**'],
    'test/contract/{express,fastify,fetch,hono,hostile-heads,http-edges,http2,node-http,port}.test.ts',
  ],
  runtimes: [
    ...['src/engines/webllm/**', 'src/usage/shared-file.test.ts', 'models/**', 'scripts/**', 'bench/**'],
    ...['test/{contract,support,nano}/**', 'test/{cli*,package,readme,docs-code}.test.ts'],
  ],
  browser: ['test/{browser,playground}/**'],
  /**
   * Each has a process of its own: it counts what is made in it, says for it how wide cases are made, or opens a GPU in
   * software, which programs that are started later would find. Of the others all files of a worker share one, with what
   * they imported, the vocabularies and weights they made, the GPU and Chromium: to begin anew for each takes as long as
   * the tests.
   */
  alone: [
    ...['bench/{guard,profile}/**', 'src/engines/webllm/worker/**', 'src/models/encoders/blocks.test.ts'],
    ...['test/nano/examples.test.ts', 'test/support/**'],
  ],
}
type Slow = keyof typeof SLOW
type Name = Slow | 'unit' | 'node'
const TESTS = '{test,src,adapters,bench,scripts,models}/**/*.test.ts'
const filesOf = (name: Name) =>
  name in SLOW ? SLOW[name as Slow].map((place) => place.replace(/\*\*$/, '**/*.test.ts')) : [TESTS]
const byName = process.argv.some((argument) => /^--project\b/.test(argument))
/** What of its folders is another's. */
const OTHERS: Partial<Record<Name, readonly string[]>> = {
  gpu: filesOf('alone'),
  runtimes: [
    ...(byName ? (['alone', 'clients', 'structured'] as const) : (['alone', 'clients'] as const)).flatMap(filesOf),
    'scripts/models/**',
  ],
  unit: Object.values(SLOW).flat(),
  node: (['alone', 'gpu', 'browser', 'clients', 'runtimes'] as const).flatMap(filesOf),
}
const NEVER = ['**/node_modules/**', 'dist/**']
/**
 * Each project starts workers of its own, which import all that is tested anew. What computes in Node alone is therefore
 * one, `node`, unless a part of it is asked for by its name. `clients` and `runtimes` stay apart: servers that they start
 * replace what is global in their worker (Hono's its `Response`).
 */
const PARTS = ['unit', 'structured'] as const
const NAMES: readonly Name[] = [
  ...(byName ? PARTS : (['node'] as const)),
  'clients',
  'runtimes',
  'gpu',
  'browser',
  'alone',
]

export default defineConfig({
  // Examples import the package by its name.
  resolve: {
    alias: { 'local-v1/structured': fileURLToPath(new URL('src/grammar/structured.ts', import.meta.url)) },
  },
  test: {
    // Kernels, pages and the compiler take minutes on a machine that is busy: who waits for good is found out all the same.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    setupFiles: ['test/support/equality.ts'],
    // What is waited for comes at once, but not on a machine that is busy.
    expect: { poll: { timeout: 15_000 } },
    // Two cores, and one file more: those that wait, for programs, timers and pages, leave their core to others.
    maxWorkers: 3,
    // What was translated for one project is not translated again for another, nor in the next run.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/local-v1/modules' },
    reporters: ['default', './scripts/summary-reporter.ts'],
    projects: NAMES.map((name) => ({
      extends: true as const,
      test: {
        name,
        include: filesOf(name),
        exclude: [...NEVER, ...(OTHERS[name] ?? [])],
        isolate: name === 'alone',
      },
    })),
  },
})
