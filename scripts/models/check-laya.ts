/** Decisions of a model that is made for them, from its own files and as GGUF, held to float64. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../../src/engines/webgpu/contract.js'
import { openCpuDevice } from '../../src/engines/webgpu/cpu/index.js'
import { loadEncoderPlanned, planEncoderLoad } from '../../src/engines/webgpu/encoders/load-encoder.js'
import { openRepository } from '../../src/repository/open.js'
import { BOUND, DECISIONS } from './check-decisions.js'
import { laya, layaInputs, writeLaya } from './encoders/laya.js'
import { encoderWeights } from './encoders/source.js'
import { writeGguf } from './llama-cpp.js'
import { EXACT, GPUS, type Where } from './our-core.js'
import type { Rows } from './rows.js'

/** Its two forms of files, which are told apart by nothing in what comes of them. */
const FILES = [writeLaya, (path: string) => writeGguf(path, laya, encoderWeights(laya))] as const

export async function checkLaya(rows: Rows, devices: readonly Where[]): Promise<void> {
  const row = (device: string, code: 'encoders on cpu' | 'encoders on gpu', open: () => Promise<Device>) =>
    rows.once({ family: laya.name, kind: 'decisions', what: DECISIONS, device }, code, async () =>
      verdictOn(await open()),
    )
  if (devices.includes('cpu')) await row(EXACT, 'encoders on cpu', () => openCpuDevice({ threads: 1, exact: true }))
  for (const { name, cut, open } of GPUS) if (devices.includes(cut)) await row(name, 'encoders on gpu', open)
}

async function verdictOn(device: Device) {
  const inputs = layaInputs()
  const truth = inputs.map((input) => shares(laya.reference(encoderWeights(laya), input)))
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-laya-'))
  const told: number[][][] = []
  try {
    for (const [i, write] of FILES.entries()) {
      const path = join(folder, i === 0 ? 'laya' : 'laya.gguf')
      await write(path)
      const options = { report: () => {}, signal: new AbortController().signal } as const
      const { weights } = await openRepository({ kind: 'folder', path }, options)
      const model = await loadEncoderPlanned(device, weights, planEncoderLoad(weights, device, { name: laya.name }))
      const texts = inputs.map(({ tokens, marks, kind }) => ({ tokens, marks, types: tokens.map(() => kind) }))
      told.push((await model.vectors(texts)).map(shares))
      await model.close()
    }
  } finally {
    if (device.info.kind === 'cpu') device.destroy()
    await rm(folder, { recursive: true })
  }
  const off = told.flatMap((form) => form.flatMap((own, i) => own.map((share, k) => Math.abs(share - truth[i]![k]!))))
  const likeliest = (own: readonly number[]) => own.indexOf(Math.max(...own))
  const worst = Math.max(...off)
  return {
    tokens: truth.flat().length,
    otherTokens: told.flatMap((form) => form.filter((own, i) => likeliest(own) !== likeliest(truth[i]!))).length,
    rms: Math.sqrt(off.reduce((sum, one) => sum + one ** 2, 0) / off.length),
    worst,
    bound: BOUND,
    good: worst < BOUND,
  }
}

function shares(scores: ArrayLike<number>): number[] {
  const most = Math.max(...Array.from(scores))
  const all = Array.from(scores, (score) => Math.exp(score - most))
  const sum = all.reduce((total, one) => total + one, 0)
  return all.map((one) => one / sum)
}
