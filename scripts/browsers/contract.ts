/** The contract of every endpoint, as every other runtime keeps it (`test/contract/endpoints.ts`), by vitest itself. */
import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from '../../test/support/spawn.js'
import type { Scenario } from './scenarios.js'

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
/** By the words of the contract's names. */
const NAMES: Readonly<Record<string, string>> = { chromium: 'Chromium', firefox: 'Firefox', webkit: 'WebKitGTK' }

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

export const endpoints: Scenario = {
  name: 'every endpoint, in a service worker and in a page’s worker: the same contract as in every other runtime',
  async run({ browser }) {
    const file = join(tmpdir(), `local-v1-contract-${browser.name}-${process.pid}.json`)
    const named = `${NAMES[browser.name]}.*endpoints`
    const args = ['run', 'test/contract/service-worker.test.ts', '-t', named, '--reporter=json', '--outputFile', file]
    // Without it only Chromium keeps the whole of it.
    const running = start(process.execPath, [VITEST, ...args], { ...browser.env, LOCAL_V1_FULL: '1' })
    const { code } = await running.exit
    const report = JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Partial<Report>
    await rm(file, { force: true })
    const failed = (report.testResults ?? [])
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'failed')
    assert.deepEqual(
      failed.map(({ fullName }) => fullName),
      [],
    )
    assert.ok(code === 0 && (report.numPassedTests ?? 0) > 0, running.output().slice(-500))
  },
}
