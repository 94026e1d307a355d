/** Records what goes on from the state of a sequence: a convolution over its last tokens, and the gated delta rule. */
import type { Activations, ConvolveOptions, DeltaOptions, States } from '../contract.js'
import { MAX_TAPS } from '../contract.js'
import { OPERATIONS } from '../operations/index.js'
import { CHANNELS_OF_LINE } from './abi.js'
import { own } from './guards.js'
import type { PassRecorder } from './pass-recorder.js'
import { few } from './program.js'
import { CpuActivations, CpuStates, CpuVector } from './tensors.js'

export function convolve(
  pass: PassRecorder,
  x: Activations,
  states: States,
  index: number,
  out: Activations,
  options: ConvolveOptions,
): void {
  OPERATIONS.convolve.fit(pass.shape, x, states, index, out, options)
  const [source, target, kept] = [own(x, CpuActivations), own(out, CpuActivations), own(states, CpuStates)]
  const taps = own(options.taps, CpuVector)
  const channels = taps.length / MAX_TAPS
  const gated = options.form === 'gated'
  const args = {
    x: source.use(),
    xStride: source.stride,
    out: target.use(),
    outStride: target.stride,
    taps: taps.use(),
    channels,
    gated,
    state: kept.state(index),
    slotBytes: kept.slotBytes,
    spans: pass.batch.spans,
  }
  pass.add(
    'convolve',
    pass.shape.spans.length * Math.ceil(channels / CHANNELS_OF_LINE),
    args,
    few(pass.rows * channels),
  )
}

export function delta(
  pass: PassRecorder,
  x: Activations,
  states: States,
  index: number,
  out: Activations,
  options: DeltaOptions,
): void {
  OPERATIONS.delta.fit(pass.shape, x, states, index, out, options)
  const { keyHeads, valueHeads, keySize, valueSize, norm, gatesFrom, tiled = false } = options
  const [source, target, kept] = [own(x, CpuActivations), own(out, CpuActivations), own(states, CpuStates)]
  const [rates, gates] = [own(options.rates, CpuActivations), own(options.gates, CpuActivations)]
  const longest = Math.max(...pass.shape.spans.map(({ tokens }) => tokens.length))
  const room = pass.perThread(longest * (2 * keySize * 4 + 48))
  pass.add('delta', pass.shape.spans.length * valueHeads, {
    x: source.use(),
    xStride: source.stride,
    rates: rates.use(),
    ratesStride: rates.stride,
    out: target.use(),
    outStride: target.stride,
    gates: gates.use() + gatesFrom * 4,
    gatesStride: gates.stride,
    keyHeads,
    valueHeads,
    tiled,
    keySize,
    valueSize,
    speed: own(options.speed, CpuVector).use(),
    delay: own(options.delay, CpuVector).use(),
    weight: own(norm.weight, CpuVector).use(),
    epsilon: norm.epsilon,
    state: kept.state(index),
    slotBytes: kept.slotBytes,
    spans: pass.batch.spans,
    room: room.at,
    roomGap: room.stride,
  })
}
