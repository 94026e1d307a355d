import { accessSync, constants, mkdirSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, totalmem } from 'node:os'
import process from 'node:process'
import { tryRevectorize } from '../engines/index.js'
import { defaultFolder, NANO } from '../models/index.js'
import { importWebgpu, lookForAdapter, runtimeName, UNSAFE } from '../platform/index.js'
import { createV1 } from '../service/index.js'
import { openEngine } from './engine.js'
import { Fault } from './fault.js'
import { paint } from './terminal.js'

export interface DoctorOptions {
  readonly cache?: string
  readonly url?: string
  readonly json?: boolean
}

interface Finding {
  readonly what: string
  readonly state: 'ok' | 'so' | 'bad'
  readonly says: string
}

/** Looks at what decides whether models run here, and how: each line says what is so, or what to do. */
export async function doctor(options: DoctorOptions, version: string): Promise<void> {
  // A page that cannot be reached is no reason to wait for what takes seconds.
  const page = options.url === undefined ? [] : await headers(options.url)
  const findings = [runtime(version), memory(), disk(options.cache), ...(await device()), await vectors(), ...page]
  if (options.json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`)
  else for (const finding of findings) show(finding)
  const bad = findings.filter(({ state }) => state === 'bad').length
  if (bad > 0) throw new Fault(`${bad} of these ${bad === 1 ? 'needs' : 'need'} care.`, 1)
}

function show({ what, state, says }: Finding): void {
  const mark = { ok: paint('green', 'ok '), so: paint('dim', '-  '), bad: paint('red', 'BAD') }[state]
  process.stdout.write(`${mark} ${what.padEnd(9)} ${says}\n`)
}

function runtime(version: string): Finding {
  const says = `local-v1 ${version}, ${runtimeName()}, ${process.platform} ${process.arch}`
  const [major = 0] = process.versions.node.split('.').map(Number)
  return major >= 20
    ? { what: 'program', state: 'ok', says }
    : { what: 'program', state: 'bad', says: `${says}: install Node 24 (20 and newer work too)` }
}

function memory(): Finding {
  const says = `${gigabytes(freemem())} of ${gigabytes(totalmem())} are free, ${availableParallelism()} cores`
  return { what: 'memory', state: freemem() < 5e8 ? 'bad' : 'ok', says }
}

function disk(cache = defaultFolder()): Finding {
  const what = 'models'
  if (cache === undefined) return { what, state: 'bad', says: 'no folder for downloads: name one with --cache' }
  try {
    mkdirSync(cache, { recursive: true })
    accessSync(cache, constants.W_OK)
    const { bavail, bsize } = statfsSync(cache)
    const free = bavail * bsize
    const says = `${gigabytes(free)} are free at ${cache}`
    return free < 1e9 ? { what, state: 'bad', says: `${says}: most models take more` } : { what, state: 'ok', says }
  } catch (error) {
    return { what, state: 'bad', says: `${cache} cannot be written: ${(error as Error).message}` }
  }
}

/** What would run, by running it: the embedded model, asked for three tokens. */
async function device(): Promise<Finding[]> {
  const lines: string[] = []
  const findings: Finding[] = [{ what: 'webgpu', ...(await gpuPackage()) }, ...(await matrices()), ...(await drivers())]
  try {
    const { engine } = await openEngine({ device: 'auto', log: (text) => lines.push(text) })
    const v1 = createV1({ engine, keys: 'none', log: () => {} })
    try {
      await v1.load(NANO)
      const metadata = engine.models.find(({ id }) => id === NANO)?.metadata
      const { device = 'unknown', device_name: name = '', device_reason: why } = metadata ?? {}
      const reason = typeof why === 'string' ? `: ${why}` : ''
      findings.push({ what: 'device', state: 'ok', says: `${device} (${name})${reason}` })
      const body = JSON.stringify({ model: NANO, max_tokens: 3, messages: [{ role: 'user', content: 'Hi' }] })
      const request = new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      const answer = await v1.fetch(request)
      const says = answer.ok ? `${NANO} answers` : `${NANO} does not answer: ${await answer.text()}`
      findings.push({ what: 'answer', state: answer.ok ? 'ok' : 'bad', says })
    } finally {
      await v1.close()
    }
  } catch (error) {
    findings.push({ what: 'device', state: 'bad', says: error instanceof Error ? error.message : String(error) })
  }
  return findings
}

/** What wider vectors would bring to the CPU device, by trying them. */
async function vectors(): Promise<Finding> {
  const what = 'vectors'
  const { gain, why } = await tryRevectorize()
  if (gain === undefined) return { what, state: 'so', says: `of 128 bits, as those of 256 ${why}` }
  const gains = `of 256 bits make products for prompts ${gain.toFixed(1)} times as fast on this CPU, with the same results`
  const says = `${gains}. The server takes them in its first quiet second, by a flag that V8 calls an experiment (--experimental-wasm-revectorize); --no-revectorize leaves them`
  return { what, state: 'so', says }
}

/** Where there is a GPU: whether its subgroups multiply matrices, which would make prompts quicker. */
async function matrices(): Promise<Finding[]> {
  const { adapter, matrices: shapes } = (await lookForAdapter()) ?? {}
  if (!adapter) return []
  const says = shapes
    ? `subgroups multiply ${shapes.join(', ') || 'matrices of shapes that are not told'}; ${UNSAFE}=1 lets prompts use it`
    : 'subgroups multiply none here (chromium-experimental-subgroup-matrix)'
  return [{ what: 'matrices', state: 'so', says }]
}

/** What nobody else shows: the words of Dawn and of the drivers under it. */
async function drivers(): Promise<Finding[]> {
  const { adapter, output = '' } = (await lookForAdapter()) ?? {}
  if (output === '') return []
  return [{ what: 'drivers', state: adapter ? 'ok' : 'so', says: `say: ${output.replace(/\s+/g, ' ')}` }]
}

async function gpuPackage(): Promise<Pick<Finding, 'state' | 'says'>> {
  if ((globalThis as { navigator?: { gpu?: unknown } }).navigator?.gpu)
    return { state: 'ok', says: 'is part of this runtime' }
  try {
    // Where another process has loaded it, it is there.
    if ((await lookForAdapter()) === undefined) await importWebgpu()
    return { state: 'ok', says: 'the package webgpu is installed' }
  } catch {
    return { state: 'so', says: 'not installed: npm install webgpu, if this machine has a GPU' }
  }
}

/** What a page's headers allow it: threads need isolation, and the CPU device needs WebAssembly. */
export async function headers(url: string): Promise<Finding[]> {
  const what = 'page'
  const response = await fetch(url).catch((error: Error) => {
    throw new Fault(
      `${url} cannot be reached: ${error.cause instanceof Error ? error.cause.message : error.message}`,
      1,
    )
  })
  const header = (name: string) => response.headers.get(name) ?? ''
  const secure = /^https:|^http:\/\/(localhost|127\.|\[::1\])/.test(url)
  const isolated =
    /same-origin/.test(header('cross-origin-opener-policy')) &&
    /require-corp|credentialless/.test(header('cross-origin-embedder-policy'))
  const policy = header('content-security-policy')
  const script = /script-src([^;]*)/.exec(policy)?.[1] ?? /default-src([^;]*)/.exec(policy)?.[1]
  const wasm = script === undefined || /'(wasm-)?unsafe-eval'/.test(script)
  return [
    secure
      ? { what, state: 'ok', says: 'has a secure origin: service workers and WebGPU work' }
      : { what, state: 'bad', says: 'has no secure origin: serve it over https, or from localhost' },
    isolated
      ? { what, state: 'ok', says: 'is cross-origin isolated: the CPU device can use threads' }
      : {
          what,
          state: 'so',
          says: 'is not cross-origin isolated: the CPU device has one thread. Send COOP same-origin and COEP require-corp for more',
        },
    wasm
      ? { what, state: 'ok', says: 'allows WebAssembly' }
      : { what, state: 'bad', says: "does not allow WebAssembly: add 'wasm-unsafe-eval' to script-src" },
  ]
}

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`
