import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import type { SampleSettings } from '../../src/contract/token-model.js'
import { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { loadCore } from '../../src/models/load.js'
import { GPUS, ofZeros } from '../guard/steps.js'
import { StillGpu } from '../guard/still-gpu.js'
import { SAMPLE } from '../profile/measure.js'

/** In milliseconds. */
export interface Pretended {
  readonly pass: number
  readonly roundTrip: number
  readonly mask: number
}

const STEPS = 32

/** A model on a GPU that computes nothing. */
export async function stillCore() {
  const gpu = new StillGpu()
  const about = { name: 'still', reason: 'It is timed.', traits: GPUS['with f16']!, submitWork: 2 ** 33 }
  const source = ofZeros(syntheticSource(SHAPES['SmolLM2-135M-like']!))
  const sizes = { contextLength: 512, cacheTokens: 1024, maxBatch: 1 }
  return { gpu, core: await loadCore(new GpuDevice(gpu.device, about), source, sizes) }
}

/** Milliseconds that a token of strict JSON takes, waited for one by one and with passes that begin before their masks. */
export async function following({ pass, roundTrip, mask: masking }: Pretended) {
  const { gpu, core } = await stillCore()
  const mask = new Uint32Array(Math.ceil(core.vocabSize / 32)).fill(0xffffffff)
  const sample = (index: number): SampleSettings => {
    gpu.now += masking
    return { ...SAMPLE, index, mask }
  }
  const first = core.open()
  await core.step([{ sequence: first, tokens: [7], sample: sample(0) }])
  gpu.take()
  await core.step([{ sequence: first, tokens: [7], sample: sample(1) }])
  gpu.pretended = { dispatch: pass / gpu.take().counts.dispatches, roundTrip }
  let began = gpu.now
  for (let i = 1; i <= STEPS; i++) await core.step([{ sequence: first, tokens: [7], sample: sample(i) }])
  const stepped = (gpu.now - began) / STEPS
  const tokens = core.follow!([{ sequence: core.open(), tokens: [7], sample: sample(0) }])
  await tokens.next()
  began = gpu.now
  for (let i = 1; i <= STEPS; i++) await tokens.next([sample(i)])
  const followed = (gpu.now - began) / STEPS
  await tokens.return()
  await core.close()
  return { stepped, followed }
}
