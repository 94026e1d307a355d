/**
 * A worker that computes without end, or in native code that never returns, with and without a GPU under it: Dawn ends
 * the whole process where a thread is torn down while a promise of its own is open, and this needs a process to show.
 */
import { execFileSync } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { tinyRepository, writeRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { bundle } from '../support/bundle.js'
import { FULL } from '../support/full.js'
import { ownFolder } from '../support/own-folder.js'
import { start } from '../support/spawn.js'
import { quickSwiftshaderEnv } from '../support/swiftshader.js'

const NANO = fileURLToPath(new URL('../../models/nano', import.meta.url))
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
/** How long a worker may be silent. On a GPU longer than a kernel takes to be compiled in software, which is no standing. */
const STANDS_MS = { cpu: 2000, webgpu: 4000 }

const folder = ownFolder()
/** On a GPU one with few kernels, which each worker compiles anew; nano on a processor, which writes long enough there. */
const MODELS = { cpu: NANO, webgpu: join(folder, 'tiny') }
beforeAll(async () => {
  await writeRepository(tinyRepository(1, 4096), MODELS.webgpu)
  const entries = {
    'stands.mjs': 'test/contract/stands-entry.ts',
    'worker.mjs': 'test/contract/stands-worker-entry.ts',
  }
  for (const [file, entry] of Object.entries(entries)) await writeFile(join(folder, file), await bundle(entry))
  await symlink(MODULES, join(folder, 'node_modules'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
})

interface Answered {
  readonly status: number
  readonly error: { readonly code: string; readonly message: string } | null
  readonly text: string | null
}

interface Round {
  readonly first: Answered
  /** The request that it stood over, one that ran meanwhile, and the one after. */
  readonly stood: Answered
  readonly left: Answered
  readonly again: Answered
  /** Of the application's own route, of the list of models and of the health, as long as it stood. */
  readonly statuses: readonly (readonly [path: string, statuses: readonly number[]])[]
}

// Beside each other: they wait most of the time. Nothing brings a native call to its end, nor the process that waits for it.
test.concurrent.each([
  { device: 'cpu', says: 'stand', rounds: 2, end: { code: 0, signal: null } },
  { device: 'webgpu', says: 'stand', rounds: FULL ? 2 : 1, end: { code: 0, signal: null } },
  { device: 'cpu', says: 'call', rounds: 1, end: { code: null, signal: 'SIGKILL' } },
  // A call is none of the GPU's: it stands in the worker as it does on a processor.
  ...(FULL ? ([{ device: 'webgpu', says: 'call', rounds: 1, end: { code: null, signal: 'SIGKILL' } }] as const) : []),
] as const)(
  'the service outlives a worker that stands, as often as it does: $device, $says',
  { timeout: 300_000 },
  async ({ device, says, rounds, end }) => {
    const env = device === 'webgpu' ? await quickSwiftshaderEnv() : {}
    const args = [join(folder, 'stands.mjs'), MODELS[device], device, `${STANDS_MS[device]}`, says, `${rounds}`]
    const running = start(process.execPath, args, { ...env, PIPE: join(folder, 'pipe') })
    expect(await running.exit, running.output()).toEqual(end)
    const lines = running
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    expect(lines, running.output()).toHaveLength(rounds + 1)
    const reports = lines.map((line) => JSON.parse(line))
    for (const { first, stood, left, again, statuses } of reports.slice(0, -1) as Round[]) {
      expect(first).toMatchObject({ status: 200 })
      expect(stood).toMatchObject({ status: 500, error: { code: 'engine_stood' } })
      expect(stood.error!.message).toMatch(/while reading its prompt .*request chatcmpl-/)
      expect(left).toMatchObject({ status: 503, error: { code: 'engine_lost' } })
      expect(left.error!.message).not.toContain('chatcmpl-')
      expect(again).toEqual(first)
      for (const [path, all] of statuses) {
        expect(all.length, path).toBeGreaterThan(1)
        expect(new Set(all), path).toEqual(new Set([200]))
      }
    }
    // Each time in a worker, on the device that was asked for.
    const { metadata, logged } = reports.at(-1)
    expect(metadata).toMatchObject({ device, worker: true })
    expect(logged.filter((line: string) => line.includes('ended its worker'))).toHaveLength(rounds)
  },
)
