/** Rotary position embeddings: the angle of every pair of values at every position. */
import { refuse } from './refuse.js'

export type RopeScaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      /** Llama 3.1 and later: long wavelengths are stretched, short ones kept, those between blended. */
      readonly type: 'llama3'
      readonly factor: number
      readonly lowFrequency: number
      readonly highFrequency: number
      readonly originalLength: number
    }

export function readRopeScaling(value: unknown, name: string): RopeScaling | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const scaling = value as Readonly<Record<string, unknown>>
  const type = scaling.rope_type ?? scaling.type ?? 'default'
  if (type === 'default') return undefined
  const number = (key: string): number => {
    if (typeof scaling[key] !== 'number') throw refuse(name, `rope_scaling without ${key}`)
    return scaling[key]
  }
  if (type === 'linear') return { type, factor: number('factor') }
  if (type === 'llama3') {
    return {
      type,
      factor: number('factor'),
      lowFrequency: number('low_freq_factor'),
      highFrequency: number('high_freq_factor'),
      originalLength: number('original_max_position_embeddings'),
    }
  }
  throw refuse(name, `the rope scaling "${String(type)}"`)
}

/** Turns per position, in radians, of each pair of values. */
export function ropeFrequencies(headSize: number, theta: number, scaling?: RopeScaling): Float64Array {
  const frequencies = new Float64Array(headSize / 2)
  for (let i = 0; i < frequencies.length; i++) frequencies[i] = scaled(theta ** ((-2 * i) / headSize), scaling)
  return frequencies
}

function scaled(frequency: number, scaling: RopeScaling | undefined): number {
  if (!scaling) return frequency
  if (scaling.type === 'linear') return frequency / scaling.factor
  const wavelength = (2 * Math.PI) / frequency
  if (wavelength < scaling.originalLength / scaling.highFrequency) return frequency
  if (wavelength > scaling.originalLength / scaling.lowFrequency) return frequency / scaling.factor
  const smooth =
    (scaling.originalLength / wavelength - scaling.lowFrequency) / (scaling.highFrequency - scaling.lowFrequency)
  return ((1 - smooth) * frequency) / scaling.factor + smooth * frequency
}

/** cos and sin of every pair at positions 0 to `positions` - 1: [positions][headSize / 2][2]. */
export function ropeTable(positions: number, frequencies: Float64Array): Float32Array {
  const pairs = frequencies.length
  const table = new Float32Array(positions * pairs * 2)
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < pairs; i++) {
      // In double precision: at position 100,000 an f32 angle is off by a hundredth of a radian.
      const angle = p * frequencies[i]!
      table[(p * pairs + i) * 2] = Math.cos(angle)
      table[(p * pairs + i) * 2 + 1] = Math.sin(angle)
    }
  }
  return table
}
