/** What devices can do at most, by public figures; none of it was measured here. */
import type { ModelShape } from '../../src/bench/shapes.js'
import { cacheBytesPerToken, decodeWork, promptWork, weightBytes } from './work.js'

export interface PublicDevice {
  readonly name: string
  /** Bytes a second between memory and processor. */
  readonly bandwidth: number
  /** Multiplications with addition a second, f32, without matrix units: WGSL does not reach those. */
  readonly products: number
  /** Seconds that WebGPU takes per dispatch. */
  readonly dispatch: number
  /** Bytes that a model may take, by the defaults of `memoryBudget`, and what the device has. */
  readonly memory: number
  readonly source: string
}

const GIB = 2 ** 30
const PAPER = 'dispatch: arXiv 2604.02344'

export const DEVICES: readonly PublicDevice[] = [
  {
    name: 'phone (Apple A17 Pro)',
    bandwidth: 51.2e9,
    products: 2.1e12 / 2,
    dispatch: 50e-6,
    memory: 3 * GIB,
    source: `LPDDR5-6400 on 64 bits, 2.1 TFLOPS f32; ${PAPER}, 32 to 71 us on Metal; a page gets less than half of its 8 GB`,
  },
  {
    name: 'laptop (Apple M3)',
    bandwidth: 100e9,
    products: 3.6e12 / 2,
    dispatch: 50e-6,
    memory: 8 * GIB,
    source: `100 GB/s by Apple's technical specifications, 3.6 TFLOPS f32; ${PAPER}, 32 to 71 us on Metal`,
  },
  {
    name: 'server GPU (NVIDIA H200)',
    bandwidth: 4.8e12,
    products: 67e12 / 2,
    dispatch: 30e-6,
    memory: 141e9,
    source: `4.8 TB/s, 67 TFLOPS f32 and 141 GB by NVIDIA's data sheet; ${PAPER}, 24 to 36 us on Vulkan`,
  },
]

/** Seconds of one step of `batch` answers: the weights are read once for all, each answer's cache by itself. */
export function stepSeconds(device: PublicDevice, shape: ModelShape, context: number, batch: number): number {
  const work = decodeWork(shape, context, batch, 1)
  const cache = batch * context * cacheBytesPerToken(shape)
  const reading = (work.weightBytes + cache) / device.bandwidth
  return Math.max(reading, (work.products + work.promptProducts) / device.products) + work.operations * device.dispatch
}

export function promptSeconds(device: PublicDevice, shape: ModelShape, tokens: number): number {
  const work = promptWork(shape, tokens, 256)
  const computing = (work.products + work.promptProducts + work.attention) / device.products
  return Math.max(computing, work.weightBytes / device.bandwidth) + work.operations * device.dispatch
}

/** Answers of so many tokens that fit beside the weights. */
export function answersThatFit(device: PublicDevice, shape: ModelShape, context: number): number {
  return Math.max(0, Math.floor((device.memory - weightBytes(shape)) / (context * cacheBytesPerToken(shape))))
}

/** A chat turn as clients ask for it: what a device is asked to do again and again. */
export const TURN = { prompt: 1024, answer: 200 }
/** Slower than this, people wait for the text: silent reading takes some five tokens a second, and twice that is comfort. */
export const COMFORT = 10
/** Answers side by side that the engine takes by default. */
const MOST_STREAMS = 8

export interface Capacity {
  /** Answers side by side, each still at a comfortable speed; 0: not even one. */
  readonly streams: number
  /** Turns a minute at that many. */
  readonly perMinute: number
}

export function capacityOf(device: PublicDevice, shape: ModelShape): Capacity {
  const context = TURN.prompt + TURN.answer
  const room = answersThatFit(device, shape, context)
  let streams = 0
  for (let n = 1; n <= Math.min(MOST_STREAMS, room); n++) {
    if (1 / stepSeconds(device, shape, context, n) >= COMFORT) streams = n
  }
  if (streams === 0) return { streams, perMinute: 0 }
  const prompts = streams * promptSeconds(device, shape, TURN.prompt)
  const answers = TURN.answer * stepSeconds(device, shape, context, streams)
  return { streams, perMinute: (60 * streams) / (prompts + answers) }
}
