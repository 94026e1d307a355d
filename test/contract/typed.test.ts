import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { MARKS, minilm } from '../oracles/encoders/bert.js'
import { wordsTokenizer, writeEncoder } from '../oracles/files/repository.js'
import { bundle } from '../support/bundle.js'
import { denoPath } from '../support/deno.js'
import { FULL } from '../support/full.js'
import { ownFolder } from '../support/own-folder.js'
import { start } from '../support/spawn.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** It is no dependency of this repository; see bun.test.ts. */
const { BUN } = process.env

const RUNTIMES = new Map<string, (() => readonly [program: string, ...arguments_: string[]]) | undefined>([
  ['node', () => [process.execPath]],
  ['deno', () => [denoPath(), 'run', '--allow-all', '--no-lock', '--no-remote', '--node-modules-dir=manual']],
  ['bun', BUN === undefined ? undefined : () => [BUN]],
])

const folder = ownFolder()
beforeAll(async () => {
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/local-v1'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'main.mjs'), await bundle('test/contract/typed-entry.ts'))
  await writeEncoder(minilm, join(folder, 'encoder'), wordsTokenizer(minilm, MARKS))
})

async function run(runtime: string, worker: 'on' | 'off'): Promise<{ over: unknown; answers: unknown }> {
  const [program, ...arguments_] = RUNTIMES.get(runtime)!()
  const script = [join(folder, 'main.mjs'), join(root, 'models/nano'), join(folder, 'encoder'), worker]
  const running = start(program, [...arguments_, ...script], { NO_COLOR: '1' }, { cwd: folder })
  const { code } = await running.exit
  expect(code, running.output()).toBe(0)
  const line = (name: string) => JSON.parse(new RegExp(`^${name}: (.*)$`, 'm').exec(running.output())![1]!) as unknown
  return { over: line('over'), answers: line('answers') }
}

const cases = [...RUNTIMES.keys()].flatMap((runtime) =>
  (['on', 'off'] as const).map((worker) => [runtime, worker] as const),
)

/**
 * Node without a worker is what others are compared with: each runtime and each place once. A worker of Node's answers
 * test/cli-decide.test.ts and test/cli-extract.test.ts too; that it does so to the same bits is for `LOCAL_V1_FULL`.
 */
const COMPARED = cases.filter(([runtime, worker]) => FULL || worker === (runtime === 'node' ? 'off' : 'on'))

test.for(COMPARED)(
  'the built package decides, extracts and embeds in %s, worker %s, to the same bits as in Node',
  async ([runtime, worker], { skip }) => {
    skip(RUNTIMES.get(runtime) === undefined, 'BUN names no program')
    const itself = runtime === 'node' && worker === 'off' && !FULL
    const result = await (itself ? expected() : run(runtime, worker))
    const side = worker === 'on' ? true : null
    expect(result.over).toEqual([side, side])
    expect(result.answers).toEqual((await expected()).answers)
  },
)

let inNode: ReturnType<typeof run> | undefined
const expected = () => (inNode ??= run('node', 'off'))
