import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { random as chance } from '../../src/device/cpu/kernels.test-helper.js'
import { FULL } from '../../test/support/full.js'
import { quickSwiftshaderEnv } from '../../test/support/swiftshader.js'
import { canUnpack } from '../../test/support/unpack.js'
import { archived, pack } from './pack.js'
import {
  BOUND,
  CHOOSING,
  chosen,
  endingOf,
  LEAST_MINUTES,
  limitOf,
  MINUTES,
  type Part,
  plan,
  REST,
  TEST_FILES,
} from './plan.js'

const run = promisify(execFile)
/**
 * Parts of the quick plan that are run here: of each kind one, and of files of tests that with the fewest kernels. All where
 * all is asked for, as at night: nano's answers too, which take a GPU in software as long as the rest together.
 */
const TRIED = FULL ? '' : 'bound,sample,bench,profile'
const tried = TRIED === '' ? plan(true) : chosen(plan(true), TRIED)
/** What a process may take with it where there is no network; not every machine lets its users do that. */
const NO_NETWORK = await run('unshare', ['-rn', 'true']).then(
  () => ['unshare', '-rn'],
  () => [],
)

/** Of this machine nothing but a driver, and Dawn under tests waits without turning in a circle. */
async function environment(): Promise<Record<string, string>> {
  const { LD_LIBRARY_PATH: _, ...env } = await quickSwiftshaderEnv()
  return { PATH: '/usr/bin:/bin', ...env }
}

describe.skipIf(!canUnpack)('the kit (packed on Linux on x64 alone)', () => {
  let folder: string
  let archive: { file: string; bytes: number }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'local-v1-kit-test-'))
    archive = await pack(folder)
    await run('tar', ['-xzf', archive.file, '-C', folder])
  }, 600_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** The kit once more, whose processes may be changed. */
  async function copied(name: string): Promise<string> {
    const to = join(folder, name)
    const whole = join(folder, 'local-v1-kit')
    await cp(whole, to, { recursive: true, filter: (path) => !/\/(node|node_modules)$/.test(path) })
    for (const large of ['node', 'node_modules']) await symlink(join(whole, large), join(to, large))
    return to
  }

  it('is one archive, with less than 22 MB besides the Node that packs it', async () => {
    expect((await readdir(folder)).sort()).toEqual(['local-v1-kit', 'local-v1-kit.tar.gz'])
    const { length: size } = await archived('--exclude=local-v1-kit/node', '-C', folder, 'local-v1-kit')
    expect(size).toBeLessThan(22e6)
    // That is 36 MB of Node 20, and 49 of Node 26.
    expect(archive.bytes).toBeLessThan(size + 60e6)
  })

  // Beside each other: their processes wait more than they compute.
  it.concurrent('tries and measures without a network and without anything of this machine', {
    timeout: 1_800_000,
  }, async () => {
    const env = await environment()
    // A machine that is busy with other tests needs longer than a GPU machine is had for.
    const options = ['results', '--quick', '--minutes', '30', ...(TRIED === '' ? [] : ['--only', TRIED])]
    const [program, ...args] = [...NO_NETWORK, './local-v1-kit/run.sh', ...options]
    const { stdout } = await run(program!, args, { cwd: folder, env })
    const results = join(folder, 'results')
    const read = (name: string) => readFile(join(results, name), 'utf8')
    // Few, so that they are soon carried back.
    expect((await readdir(results)).length).toBeLessThanOrEqual(8)
    const [, passed, failed] = stdout.match(/^(\d+) passed, (\d+) failed\n$/m)!.map(Number)
    const { parts } = JSON.parse(await read('tests.json')) as {
      parts: { name: string; tried: { state: string }[]; fault?: string; left?: string }[]
    }
    const ran = parts.flatMap(({ tried }) => tried).filter(({ state }) => state !== 'skip')
    expect(stdout).toMatch(/ 0 failed\n$/)
    // What a busy machine had no time for is neither.
    const whole = parts.filter(({ tried, left }) => tried.length === 0 && left === undefined)
    expect(passed! + failed!).toBe(ran.length + whole.length)
    const names = tried.map(({ name }) => name)
    expect(parts.map(({ name }) => name)).toEqual(names)
    const trying = names.filter((name) => /^(tests|answers) /.test(name))
    expect(trying.length).toBeGreaterThan(FULL ? 2 : 0)
    for (const name of trying) {
      expect(parts.find((part) => part.name === name)!.tried.map(({ state }) => state)).toContain('pass')
    }
    expect(await read('bench.svg')).toContain('made-up/nano-like on webgpu')
    expect(await read('bench.txt')).toMatch(/decode 32, x1 +tok\/s/)
    // The share of what this adapter does at most, which it has measured of itself.
    expect(await read('profile.txt')).toMatch(/^attention +attend.* \d+\.\d %$/m)
    expect(stdout).toMatch(/^bound: [\d.]+ GB\/s copied, [\d.]+ GMul\/s in f32/m)
    expect(stdout).toMatch(/^made-up\/nano-like, a step of decoding, .*: \d+\.\d % of the bound/m)
    expect(await read('summary.txt')).toBe(stdout.slice(stdout.indexOf('local-v1 kit, ')))
  })

  it.concurrent('says what is missing where there is no driver, and ends', async () => {
    const env = { PATH: '/usr/bin:/bin', VK_DRIVER_FILES: '/nowhere.json' }
    const ended = run('./local-v1-kit/run.sh', ['none'], { cwd: folder, env })
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/WebGPU adapter.*\n\n0 passed, 1 failed\n$/s),
    })
  })

  it.concurrent('goes on after a part that crashes or hangs, and counts it', { timeout: 600_000 }, async () => {
    const broken = await copied('broken')
    const adapter = { name: 'none', software: false, info: {}, features: [], limits: {} }
    await writeFile(
      join(broken, 'child.mjs'),
      `const job = JSON.parse(process.argv[2])
      if (job.kind === 'adapter') process.send({ kind: 'adapter', adapter: ${JSON.stringify(adapter)} })
      if (job.file === ${TEST_FILES.findIndex((path) => path.includes('sample'))}) process.abort()
      if (job.file === ${TEST_FILES.findIndex((path) => path.includes('attention'))}) setInterval(() => {}, 1000)
      else process.disconnect()`,
    )
    // What is kept for the parts after it leaves the one that hangs a few seconds.
    const parts = plan(true)
    const hanging = parts.findIndex(({ name }) => name === 'tests of attention')
    const kept = parts.slice(hanging + 1).reduce((sum, { least }) => sum + least, 0)
    const minutes = String((REST + kept + 20) / 60)
    const env = { PATH: '/usr/bin:/bin' }
    const began = performance.now()
    const { stdout } = await run('./broken/run.sh', ['broken-results', '--quick', '--minutes', minutes], {
      cwd: folder,
      env,
    }).catch((error: unknown) => error as { stdout: string })
    expect((performance.now() - began) / 60_000).toBeLessThan(Number(minutes))
    expect(stdout).toMatch(/^tests of sample: failed\. It ended with SIGABRT/m)
    // It had less time than such a part may take on a GPU: that is no fault of it.
    expect(stdout).toMatch(/^tests of attention: left\n {2}NO TIME: It took longer than \d+ s/m)
    const done = plan(true).length - 2
    expect(stdout).toMatch(new RegExp(`\n${done} passed, 1 failed\n$`))
  })

  // What is kept for each part is held below; the whole run of it, three quarters of a minute, is for `LOCAL_V1_FULL`.
  it.skipIf(!FULL)(
    'names what there is no time for, and is no failure for it',
    { timeout: 600_000, concurrent: true },
    async () => {
      const env = await environment()
      const slow = await copied('slow')
      await rename(join(slow, 'child.mjs'), join(slow, 'part.mjs'))
      // Tests have four seconds and leave the rest of them; the bench takes all there is; what comes then is not begun.
      await writeFile(
        join(slow, 'child.mjs'),
        `const job = JSON.parse(process.argv[2])
      if (job.kind === 'tests') process.argv[3] = '4'
      if (job.kind === 'bench') setInterval(() => {}, 1000)
      else await import('./part.mjs')`,
      )
      const { stdout } = await run('./slow/run.sh', ['hurried', '--quick', '--minutes', '1'], { cwd: folder, env })
      expect(stdout).toMatch(/NO TIME/)
      expect(stdout).toMatch(/ 0 failed\n$/)
      const named = plan(true).map(({ name }) => name)
      for (const name of named) expect(stdout.slice(stdout.indexOf('local-v1 kit, '))).toContain(`\n${name}: `)
    },
  )
})

describe('the plan', () => {
  it('can be cut down to parts by words of their names', () => {
    const names = chosen(plan(false), 'Bound, attention,bench of made-up/Llama,,').map(({ name }) => name)
    expect(names).toEqual([BOUND, 'tests of attention', 'bench of made-up/Llama-3.2-1B-like'])
    expect(chosen(plan(false), 'nothing of that name,')).toEqual([])
  })

  it('has every test that asks for a GPU by itself', async () => {
    const { stdout } = await run('git', [
      'grep',
      '-lE',
      'devices.test-helper|(software|shared)Gpu\\(',
      '--',
      'src/**/*.test.ts',
    ])
    // What compares runtimes starts browsers; WebLLM brings kernels of its own.
    const elsewhere = (path: string) => /runtimes\.test|webllm/.test(path)
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((path) => !elsewhere(path))
        .sort(),
    ).toEqual([...TEST_FILES].sort())
  })

  it('sets for the process what a test sets for the modules after it', async () => {
    for (const { name, job, env } of plan(false)) {
      if (job.kind !== 'tests') continue
      const isWide = (await readFile(TEST_FILES[job.file]!, 'utf8')).includes("oracles/wide.js'")
      expect([name, env]).toEqual([name, isWide ? { MODELS_WIDE: '1' } : undefined])
    }
  })

  it('leaves out what opens the processor alone, which would take the time of what needs the GPU', async () => {
    for (const { job } of plan(false)) {
      if (job.kind !== 'tests') continue
      const source = await readFile(TEST_FILES[job.file]!, 'utf8')
      for (const block of source.split(/^(?=describe)/m)) {
        const title = block.match(/^describe\('([^']+)'/)?.[1]
        if (title === undefined) continue
        const onProcessor = block.includes('openCpuDevice(') && !/openWebGpuDevice\(|softwareGpu\(/.test(block)
        expect([title, new RegExp(job.names).test(title)]).toEqual([title, !onProcessor])
      }
    }
  })

  /** The seconds of each part, where each takes of its limit what `taken` says; the driver is found first. */
  function limits(minutes: number, quick: boolean, taken: () => number): { seconds: number[]; left: number } {
    const parts: Pick<Part, 'seconds' | 'least'>[] = [CHOOSING, ...plan(quick)]
    let left = minutes * 60 - REST
    const seconds = parts.map((_, i) => {
      const limit = limitOf(parts.slice(i), left)
      left -= limit * taken()
      return limit
    })
    return { seconds, left }
  }
  const random = chance(7)
  const TAKEN = [() => 1, () => 0, random, () => (random() < 0.5 ? 1 : random() * 0.1)]

  it.each([true, false])('keeps no more time than there is, for any --minutes; quick: %s', (quick) => {
    const parts: Pick<Part, 'least'>[] = [CHOOSING, ...plan(quick)]
    for (let minutes = LEAST_MINUTES; minutes <= 3 * MINUTES; minutes += 0.25) {
      for (const taken of TAKEN) {
        const { seconds, left } = limits(minutes, quick, taken)
        expect(left).toBeGreaterThanOrEqual(-1e-6)
        // Whatever those before them take, the first have what is kept for them, as many as there is time for.
        let kept = REST
        for (const [i, { least }] of parts.entries()) {
          kept += least
          if (kept > minutes * 60) break
          expect(seconds[i], `part ${i} of ${minutes} minutes`).toBeGreaterThanOrEqual(least - 1e-6)
        }
      }
    }
  })

  it('has time for every part by default, of which most is for what the part is for', () => {
    for (const taken of TAKEN) {
      const { seconds } = limits(MINUTES, false, taken)
      for (const [i, { name, least }] of plan(false).entries()) {
        expect(seconds[i + 1], name).toBeGreaterThanOrEqual(least - 1e-6)
        expect(least - endingOf(least), name).toBeGreaterThan(least / 2)
      }
    }
  })

  it('asks first what the adapter can do, then tries the products of matrices', () => {
    const kinds = plan(false).map(({ name, job }) => (job.kind === 'tests' ? TEST_FILES[job.file]! : name))
    expect(kinds.slice(0, 4)).toEqual([
      "the adapter's bound",
      ...['operations/project', 'operations/blocks', 'gpu/half'].map((path) => `src/device/${path}.test.ts`),
    ])
  })

  it('measures what was asked for', () => {
    const parts = plan(false).map(({ job }) => job)
    for (const model of ['made-up/Llama-3.2-1B-like', 'made-up/SmolLM2-135M-like']) {
      const bench = parts.find((job) => job.kind === 'bench' && job.model === model)
      expect(bench).toMatchObject({ settings: { promptLengths: [512, 4096], batches: [1, 8] } })
      const profile = parts.find((job) => job.kind === 'profile' && job.model === model)
      expect(profile).toMatchObject({
        runs: [
          { prompt: 512, batch: 1 },
          { prompt: 512, batch: 8 },
          { prompt: 4096, batch: 1 },
          { prompt: 4096, batch: 8 },
        ],
      })
    }
  })
})
