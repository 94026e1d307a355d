import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** What takes long, by what it needs. Everything else is `unit`: under a minute on two cores. */
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
const filesOf = (name: Slow) => SLOW[name].map((place) => place.replace(/\*\*$/, '**/*.test.ts'))
/** What of its folders is another's. */
const OTHERS: Partial<Record<Slow, readonly string[]>> = {
  gpu: filesOf('alone'),
  runtimes: [...filesOf('alone'), ...filesOf('clients'), ...filesOf('structured'), 'scripts/models/**'],
}
const NEVER = ['**/node_modules/**', 'dist/**']
const TESTS = '{test,src,adapters,bench,scripts,models}/**/*.test.ts'

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
    // What a test makes is garbage soon: with room for it, less time goes into moving what is not garbage yet.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64'],
    // What was translated for one project is not translated again for another, nor in the next run.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/local-v1/modules' },
    reporters: ['default', './scripts/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [TESTS],
          exclude: [...NEVER, ...Object.values(SLOW).flat()],
          isolate: false,
        },
      },
      ...(Object.keys(SLOW) as Slow[]).map((name) => ({
        extends: true as const,
        test: {
          name,
          include: filesOf(name),
          exclude: [...NEVER, ...(OTHERS[name] ?? [])],
          isolate: name === 'alone',
        },
      })),
    ],
  },
})
