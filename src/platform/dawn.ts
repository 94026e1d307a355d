/**
 * Dawn, which is WebGPU in Node: the optional package `webgpu`. It and the drivers under it write to the terminal past
 * Node, a missing Vulkan with a path of whoever built it, and a driver may crash or hang. So another process looks
 * first, what that one writes is kept, and Dawn is loaded here only where there is something to compute on.
 */
import { builtin } from './builtin.js'
import { nativeIsHere } from './native.js'

/** An adapter that the other process found. */
export type SeenAdapter = Pick<GPUAdapter, 'info'>

export interface Look {
  readonly adapter?: SeenAdapter
  /** See `matricesOf`. */
  readonly matrices?: readonly string[]
  /** Where there is none: why. */
  readonly why: string
  /** What native code wrote meanwhile. */
  readonly output: string
}

type ChildProcess = typeof import('node:child_process')
type Modules = typeof import('node:module')
type Urls = typeof import('node:url')

/** The variable of the environment that has what native code writes shown. */
export const VERBOSE = 'LOCAL_V1_VERBOSE'
/** A driver that is read from a slow disk for the first time takes seconds. */
const LOOK_MS = 20_000
/** A program that carries Node within itself would be started again, instead of a script of ours. */
const RUNS_SCRIPTS = /[\\/](node|nodejs|bun)(\.exe)?$/

export const importWebgpu = (): Promise<typeof import('webgpu')> => importNamed('webgpu')

/** Bundlers would refuse to build where a literal name is not installed; these marks are for those that look further. */
function importNamed(name: string): Promise<typeof import('webgpu')> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}

let looked: Promise<Look | undefined> | undefined

/** Undefined where the package is not installed, or where no other process can be started. */
export function lookForAdapter(): Promise<Look | undefined> {
  looked ??= look().catch(() => undefined)
  return looked
}

let opened: Promise<{ readonly gpu: GPU; readonly globals: object } | undefined> | undefined

/** Dawn in this process; undefined where it is not installed. */
export function openDawn(): typeof opened & {} {
  // Kept for ever: Dawn crashes once what `create` returned is garbage-collected.
  opened ??= importWebgpu().then(
    ({ create, globals }) => {
      nativeIsHere()
      return { gpu: create(dawnFlags(process.env)), globals }
    },
    () => undefined,
  )
  return opened
}

async function look(): Promise<Look | undefined> {
  const { spawn } = builtin<ChildProcess>('node:child_process') ?? {}
  if (!spawn || !RUNS_SCRIPTS.test(process.execPath)) return undefined
  const { createRequire } = builtin<Modules>('node:module')!
  const { pathToFileURL } = builtin<Urls>('node:url')!
  const dawn = pathToFileURL(createRequire(import.meta.url).resolve('webgpu')).href
  // Of the application, whose debugger or loaders it may name.
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, ['-e', scriptOf(dawn)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LOOK_MS,
    killSignal: 'SIGKILL',
    windowsHide: true,
  })
  const written = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text
    })
  }
  const end = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  const output = written.stderr.trim()
  if (env[VERBOSE] && output) process.stderr.write(`${output}\n`)
  const answer = /^found (.*)$/m.exec(written.stdout)?.[1]
  if (answer === undefined) return { why: `the process that looked for a WebGPU adapter ended with ${end}`, output }
  const found = JSON.parse(answer) as Found | null
  if (!found) return { why: 'there is no WebGPU adapter', output }
  const { vendor, architecture, device, description, isFallbackAdapter } = found.info
  const info = { vendor, architecture, device, description, isFallbackAdapter } as GPUAdapterInfo
  const matrices = matricesOf({ info: found.info, features: new Set(found.features) })
  return { adapter: { info }, ...(matrices && { matrices }), why: '', output }
}

/** What the other process writes. */
interface Found {
  readonly info: GPUAdapterInfo
  readonly features: readonly string[]
}

/** Has Dawn show what is behind a flag. */
export const DAWN_UNSAFE = 'enable-dawn-features=allow_unsafe_apis'

/** The variable of the environment that allows it, as Chrome's flag does in pages. */
export const UNSAFE = 'LOCAL_V1_UNSAFE_WEBGPU'

export const dawnFlags = (env: Readonly<Record<string, string | undefined>>): string[] =>
  env[UNSAFE] ? [DAWN_UNSAFE] : []

/** Of a matrix of M rows by N columns, which a subgroup makes as one, from factors that are K deep. */
export interface MatrixConfig {
  readonly M: number
  readonly N: number
  readonly K: number
  readonly componentType: string
  readonly resultComponentType: string
}

export const MATRICES_FEATURE = 'chromium-experimental-subgroup-matrix'

interface Listing {
  readonly info: object
  readonly features: ReadonlySet<string>
}

/** Which matrices an adapter multiplies within subgroups; undefined where it does not, or not without Dawn's flag. */
export function matrixConfigsOf({ info, features }: Listing): MatrixConfig[] | undefined {
  if (!features.has(MATRICES_FEATURE)) return undefined
  return [...((info as { readonly subgroupMatrixConfigs?: Iterable<MatrixConfig> }).subgroupMatrixConfigs ?? [])]
}

/** The same for people: rows x columns x depth, and the types of factors and result. */
export function matricesOf(adapter: Listing): string[] | undefined {
  return matrixConfigsOf(adapter)?.map(
    ({ M, N, K, componentType, resultComponentType }) => `${M}x${N}x${K} ${componentType} to ${resultComponentType}`,
  )
}

/** Its own mark before the answer: drivers write to standard output too. */
const scriptOf = (dawn: string) => `
import(${JSON.stringify(dawn)}).then(async ({ create }) => {
  const gpu = create([${JSON.stringify(DAWN_UNSAFE)}])
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  const { vendor, architecture, device, description, isFallbackAdapter, subgroupMatrixConfigs: configs } = adapter?.info ?? {}
  const subgroupMatrixConfigs = [...(configs ?? [])].map(({ M, N, K, componentType, resultComponentType }) => {
    return { M, N, K, componentType, resultComponentType }
  })
  const info = { vendor, architecture, device, description, isFallbackAdapter, subgroupMatrixConfigs }
  const found = adapter && { info, features: [...adapter.features] }
  const { writeSync } = await import('node:fs')
  writeSync(1, '\\nfound ' + JSON.stringify(found) + '\\n')
  process.exit(0)
})`
