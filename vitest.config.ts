import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{test,src,adapters,bench,scripts,models}/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'dist/**'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores, and GPU tests that want them both: more files at once only make each other slow.
    maxWorkers: 2,
    reporters: ['default', './scripts/summary-reporter.ts'],
  },
})
