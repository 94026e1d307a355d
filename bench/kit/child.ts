/** The process of one part: does its job on the GPU, and tells what comes of it as it comes. */
import process from 'node:process'
import { coreCandidates } from '../../src/bench/candidates.js'
import { machine } from '../../src/bench/machine.js'
import type { BenchReport } from '../../src/bench/report.js'
import { run } from '../../src/bench/rounds.js'
import { settingsOf } from '../../src/bench/settings.js'
import { isSoftware } from '../../src/device/gpu/index.js'
import { matricesOf } from '../../src/platform/dawn.js'
import { profiled } from '../profile/carry-out.js'
import { answers } from './answers.js'
import { boundOf } from './bound.js'
import { softwareGpu } from './gpu.js'
import { type Adapter, NO_TIME, tell } from './message.js'
import { endingOf, type Job } from './plan.js'
import { runTests } from './tests.js'
import { tune } from './tune.js'

declare const __KIT_VERSION__: string
const version = __KIT_VERSION__
const progress = (message: string) => console.log(message)

const findAdapter = async () => (await softwareGpu()).requestAdapter({ powerPreference: 'high-performance' })

async function adapterHere(): Promise<Adapter | undefined> {
  const adapter = await findAdapter()
  if (!adapter) return undefined
  const info = plain<unknown>(adapter.info)
  const matrices = matricesOf(adapter)
  return {
    name: String(info.description || info.device || info.vendor || 'unnamed adapter'),
    software: isSoftware(adapter),
    info,
    features: [...adapter.features].sort(),
    ...(matrices && { matrices }),
    limits: plain<number>(adapter.limits),
  }
}

/** What stands on a host object's prototype, as data. */
function plain<T>(host: object): Record<string, T> {
  const values: Record<string, T> = {}
  for (const name in host) {
    const value = (host as Record<string, unknown>)[name]
    if (typeof value !== 'function') values[name] = value as T
  }
  return values
}

async function work(job: Job | { readonly kind: 'adapter' }, until: number): Promise<void> {
  if (job.kind === 'adapter') return tell({ kind: 'adapter', adapter: await adapterHere() })
  if (job.kind === 'bound') {
    const adapter = (await findAdapter())!
    return tell({ kind: 'bound', bound: await boundOf(adapter, isSoftware(adapter)) })
  }
  if (job.kind === 'tests') return runTests(job.file, new RegExp(job.names), until)
  if (job.kind === 'answers') return answers(job.requests, until)
  // The core finds the package by itself; WebGPU's constants are for what profiles it.
  const gpu = await softwareGpu()
  if (job.kind === 'tune') return tune(job.subject, gpu, job.software, until)
  if (job.kind === 'bench') {
    const { model, cacheTokens, settings } = job
    const candidates = coreCandidates({ models: [{ id: model, cacheTokens }], devices: ['webgpu'] })
    const named = candidates.map((candidate) => ({ ...candidate, name: model.slice('made-up/'.length) }))
    const soFar = (report: BenchReport) => tell({ kind: 'report', report })
    return soFar(await run(named, settingsOf(settings), { version, machine, progress, until, soFar }))
  }
  for (const { prompt, batch } of job.runs) {
    const { model, steps } = job
    const name = `profile of ${prompt} tokens, x${batch}`
    if (performance.now() > until) {
      tell({ kind: 'tried', tried: { name, state: 'skip', milliseconds: 0, error: NO_TIME } })
      continue
    }
    const profile = await profiled({ version, model, device: 'webgpu', gpu, prompt, batch, steps, progress })
    tell({ kind: 'profile', profile })
  }
}

const [job, seconds] = process.argv.slice(2) as [string, string]
await work(JSON.parse(job), (Number(seconds) - endingOf(Number(seconds))) * 1000)
// Dawn keeps threads; what was told must have left first.
if (process.connected) process.disconnect()
process.exit()
