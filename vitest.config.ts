import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** What takes long, by what it needs. Everything else is `unit`: under a minute on two cores. */
const SLOW = {
  structured: ['src/grammar/**'],
  gpu: [
    ...['src/device/**', 'src/models/{architectures,blocks,encoders}/**', 'src/models/*.test.ts'],
    ...['src/engines/webgpu/**', 'bench/**'],
  ],
  runtimes: [
    ...[
      'src/engines/{remote,webllm,llama-cpp}/**',
      'src/usage/shared-file.test.ts',
      'src/cli/**',
      'models/**',
      'scripts/**',
    ],
    ...['test/{contract,clients,support,nano}/**', 'test/{cli*,package,readme,docs-code}.test.ts'],
  ],
  browser: ['test/{browser,playground}/**'],
}
const NEVER = ['**/node_modules/**', 'dist/**']
const TESTS = '{test,src,adapters,bench,scripts,models}/**/*.test.ts'

export default defineConfig({
  // Examples import the package by its name.
  resolve: {
    alias: { 'local-v1/structured': fileURLToPath(new URL('src/grammar/structured.ts', import.meta.url)) },
  },
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores, and one file more: those that wait, for programs, timers and pages, leave their core to others.
    maxWorkers: 3,
    reporters: ['default', './scripts/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [TESTS],
          exclude: [...NEVER, ...Object.values(SLOW).flat()],
          // One process for all files of a worker: a new one for each, with its imports, takes as long as the tests.
          isolate: false,
        },
      },
      ...Object.entries(SLOW).map(([name, places]) => ({
        extends: true as const,
        test: { name, include: places.map((place) => place.replace(/\*\*$/, '**/*.test.ts')), exclude: NEVER },
      })),
    ],
  },
})
