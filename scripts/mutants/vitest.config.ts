/** The tests of one file alone, for StrykerJS: see scripts/check-mutants.ts. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: JSON.parse(process.env.LOCAL_V1_MUTANT_TESTS ?? '[]') as string[],
    exclude: ['**/node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    isolate: false,
    maxWorkers: 1,
  },
})
