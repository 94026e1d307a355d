import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'
import { unheld } from './held-rules.js'

const RULES = fileURLToPath(new URL('../docs/interface.md', import.meta.url))

/**
 * Ends a run with one line that people and machines can read: `N passed, N failed, N skipped`. A test that
 * docs/interface.md names and that a whole file of tests turned out not to have is a failure.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0
    let skipped = 0
    // A file that could not be loaded and an error outside every test are failures too, though no test carries them.
    let failed = errors.length
    const seen = new Map<string, string[]>()
    for (const module of modules) {
      const broken = module.state() === 'failed' && [...module.children.allTests('failed')].length === 0
      if (broken) failed++
      else seen.set(module.relativeModuleId, titlesOf(module))
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
        else skipped++
      }
    }
    const missing = unheld(readFileSync(RULES, 'utf8'), seen)
    if (missing.length > 0) {
      failed += missing.length
      process.exitCode = 1
    }
    // After every other reporter has written its own summary.
    process.on('exit', () => {
      const lines = missing.map((line) => `${line}\n`).join('')
      process.stdout.write(`${lines}${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
    })
  }
}

/** Also of what tests stand in: a rule may be held by a whole suite. */
function titlesOf(module: TestModule): string[] {
  const tests = [...module.children.allTests()].map(({ name }) => name)
  return [...tests, ...[...module.children.allSuites()].map(({ name }) => name)]
}
