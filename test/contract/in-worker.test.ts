import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { tinyRepository, writeRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { bundle } from '../support/bundle.js'
import { denoPath } from '../support/deno.js'
import { FULL } from '../support/full.js'
import { ownFolder } from '../support/own-folder.js'
import { start } from '../support/spawn.js'

const NANO = fileURLToPath(new URL('../../models/nano', import.meta.url))
/** It is no dependency of this repository; see bun.test.ts. */
const { BUN } = process.env

const folder = ownFolder()
/** With the worker's script beside it, as the package has it, and without. */
let whole: string
let alone: string
let tiny: string

beforeAll(async () => {
  const [main, worker] = await Promise.all(
    ['test/contract/in-worker-entry.ts', 'src/engines/webgpu/worker/webgpu-worker.ts'].map((entry) => bundle(entry)),
  )
  whole = join(folder, 'main.mjs')
  alone = join(await mkdtemp(join(folder, 'alone-')), 'main.mjs')
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'webgpu-worker.js'), worker!)
  await writeFile(whole, main!)
  await writeFile(alone, main!)
  tiny = join(folder, 'tiny')
  await writeRepository(tinyRepository(1, 4096), tiny)
})

/** Who has the checks run over it. They hold of any model: what takes nano half a minute, a made-up one does in a second. */
const CHECKED = FULL ? 'tiny,nano' : 'tiny'

const RUNTIMES: Readonly<Record<string, (() => readonly [program: string, ...arguments_: string[]]) | undefined>> = {
  node: () => [process.execPath],
  deno: () => [denoPath(), 'run', '--allow-all', '--no-lock', '--no-config', '--no-remote'],
  bun: BUN === undefined ? undefined : () => [BUN],
}

async function run(
  runtime: string,
  script: string,
  worker: 'on' | 'off',
  { more = [], checks = '' }: { more?: readonly string[]; checks?: string } = {},
) {
  const [program, ...arguments_] = RUNTIMES[runtime]!()
  const running = start(program, [...arguments_, ...more, script, NANO, tiny, worker, checks])
  const { code } = await running.exit
  const over = /^over: (.*)$/m.exec(running.output())?.[1]
  expect(running.output()).not.toContain('failed:')
  expect([code, over !== undefined], running.output()).toEqual([0, true])
  const report = JSON.parse(over!) as { worker: boolean | null; reason: string | null; used: number | null }
  return { ...report, output: running.output() }
}

const cases = Object.keys(RUNTIMES).flatMap((runtime) =>
  (['on', 'off'] as const).map((worker) => [runtime, worker] as const),
)
/** Whoever starts a worker has it say what it may take; -1 is as much as Node likes. */
const SAYS = `import workers from 'node:worker_threads'
  const { Worker } = workers
  workers.Worker = class extends Worker {
    constructor(script, options) {
      super(script, options)
      if (options?.name === 'local-v1') console.log('young: ' + this.resourceLimits.maxYoungGenerationSizeMb)
    }
  }`
const runs = new Map<string, ReturnType<typeof run>>()
/** Once for all tests that ask what came of it. */
function checked(runtime: string, worker: 'on' | 'off'): ReturnType<typeof run> {
  const key = `${runtime} ${worker}`
  const more = runtime === 'node' ? ['--import', `data:text/javascript,${encodeURIComponent(SAYS)}`] : []
  const found = runs.get(key) ?? run(runtime, whole, worker, { more, checks: CHECKED })
  runs.set(key, found)
  return found
}

test.for(cases)('the contract of a chat model in %s, worker %s', async ([runtime, worker], { skip }) => {
  skip(RUNTIMES[runtime] === undefined, 'BUN names no program')
  expect(await checked(runtime, worker)).toMatchObject({ worker: worker === 'on' ? true : null, reason: null })
})

test.for(Object.keys(RUNTIMES))(
  'in %s the thread that answers HTTP reads no prompt and runs no model',
  async (runtime, { skip }) => {
    skip(RUNTIMES[runtime] === undefined, 'BUN names no program')
    skip(process.platform !== 'linux', 'only Linux says what each thread has computed')
    const on = await checked(runtime, 'on')
    const off = await checked(runtime, 'off')
    // Of what an answer takes: without a worker most of it, with one what passing on parts takes.
    expect(on.used).toBeLessThan(off.used! / 2)
  },
)

test('what its collector keeps for new objects is bounded', async () => {
  const { output } = await checked('node', 'on')
  expect(Number(/^young: (.*)$/m.exec(output)?.[1])).toBeGreaterThan(0)
})

/** It is no experiment any more in newer Nodes. */
const PERMISSION = Number.parseInt(process.versions.node, 10) < 24 ? '--experimental-permission' : '--permission'
test.each<[string, readonly string[], string]>([
  ['a bundler left its script behind', [], 'neither next to this program'],
  ['Node forbids it', [PERMISSION, '--allow-fs-read=*', '--allow-fs-write=*'], 'no worker can be started'],
])('where %s, it computes in the calling thread and says why', async (_, arguments_, why) => {
  const report = await run('node', arguments_.length > 0 ? whole : alone, 'on', { more: arguments_ })
  expect(report.worker).toBe(false)
  expect(report.reason).toContain(why)
})

test('what a bundler has copied without its imports is not taken for the worker', async () => {
  // As Turbopack does with every `new URL(path, import.meta.url)`, also where a constant has the path.
  const copied = await mkdtemp(join(folder, 'copied-'))
  const main = await readFile(alone, 'utf8')
  const asset = 'new URL("./copied-worker.js", import.meta.url)'
  await writeFile(join(copied, 'copied-worker.js'), 'import "./chunk-left-behind.js"')
  await writeFile(join(copied, 'main.mjs'), main.replaceAll(/new URL\((?:\w+|"[^"]*"), import\.meta\.url\)/g, asset))
  const { reason } = await run('node', join(copied, 'main.mjs'), 'on')
  expect(reason).toContain('neither next to this program')
})
