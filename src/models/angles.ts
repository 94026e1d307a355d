/** Rotary position embeddings: the angle of every pair of values at every position. */

export interface Angles {
  /** Values of a head that are turned, in pairs, from the first on; 0: none. */
  readonly size: number
  readonly theta: number
  /** Of their pairs only so many turn, the first ones. @default all */
  readonly pairs?: number
  readonly scaling?: Scaling
}

export type Scaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      /** Llama 3.1 and later: long wavelengths are stretched, short ones kept, those between blended. */
      readonly type: 'llama3'
      readonly factor: number
      readonly lowFrequency: number
      readonly highFrequency: number
      readonly originalLength: number
    }
  | {
      /** Blended by how often a pair turns within the original length, between `slow` and `fast` turns. */
      readonly type: 'yarn'
      readonly factor: number
      readonly originalLength: number
      readonly fast: number
      readonly slow: number
      /** Whether the ends of the blend are whole pairs. */
      readonly truncate: boolean
      /** Cosines and sines are multiplied by it. */
      readonly attention: number
    }
  | {
      /** Phi: a divisor for each pair, others where the context is longer than the original one. */
      readonly type: 'longrope'
      readonly short: readonly number[]
      readonly long: readonly number[]
      readonly originalLength: number
      readonly attention: number
    }

/**
 * Where the devices want the values of a head: value i is turned with value i + headSize / 2, so those that stand still
 * go between the halves of those that turn. Undefined: all turn.
 */
export function turnedOrder({ size }: Angles, headSize: number): readonly number[] | undefined {
  if (size === headSize || size === 0) return undefined
  const [half, still] = [size / 2, (headSize - size) / 2]
  const run = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
  return [...run(0, half), ...run(size, still), ...run(half, half), ...run(size + still, still)]
}

/** Turns per position, in radians, of each pair of values, for sequences of up to `length`. */
export function frequencies({ size, theta, pairs = size / 2, scaling }: Angles, length: number): Float64Array {
  return Float64Array.from({ length: pairs }, (_, pair) => {
    const frequency = theta ** ((-2 * pair) / size)
    switch (scaling?.type) {
      case undefined:
        return frequency
      case 'linear':
        return frequency / scaling.factor
      case 'llama3':
        return llama3(frequency, scaling)
      case 'yarn':
        return yarn(frequency, pair, { size, theta }, scaling)
      case 'longrope':
        return frequency / (length > scaling.originalLength ? scaling.long : scaling.short)[pair]!
    }
  })
}

type Of<Type extends Scaling['type']> = Extract<Scaling, { type: Type }>

function llama3(frequency: number, { factor, lowFrequency, highFrequency, originalLength }: Of<'llama3'>): number {
  const wavelength = (2 * Math.PI) / frequency
  if (wavelength < originalLength / highFrequency) return frequency
  if (wavelength > originalLength / lowFrequency) return frequency / factor
  const smooth = (originalLength / wavelength - lowFrequency) / (highFrequency - lowFrequency)
  return ((1 - smooth) * frequency) / factor + smooth * frequency
}

function yarn(frequency: number, pair: number, { size, theta }: Angles, scaling: Of<'yarn'>): number {
  const { factor, originalLength, fast, slow, truncate } = scaling
  /** The pair, not always a whole one, that turns so often within the original length. */
  const pairOf = (turns: number) => (size * Math.log(originalLength / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const from = Math.max(0, truncate ? Math.floor(pairOf(fast)) : pairOf(fast))
  const to = Math.min(size - 1, truncate ? Math.ceil(pairOf(slow)) : pairOf(slow))
  const stretched = Math.min(1, Math.max(0, (pair - from) / (to === from ? 0.001 : to - from)))
  return frequency * (1 - stretched) + (frequency / factor) * stretched
}

/**
 * cos and sin of every pair at positions 0 to `positions` - 1: [positions][headSize / 2][2]. Pairs that are left stand
 * still.
 */
export function angleTable(positions: number, angles: Angles, headSize = angles.size): Float32Array {
  const turns = frequencies(angles, positions)
  const attention = angles.scaling && 'attention' in angles.scaling ? angles.scaling.attention : 1
  const pairs = headSize / 2
  const table = new Float32Array(positions * pairs * 2)
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < pairs; i++) {
      if (i >= turns.length) {
        table[(p * pairs + i) * 2] = 1
        continue
      }
      // In double precision: at position 100,000 an f32 angle is off by a hundredth of a radian.
      const angle = p * turns[i]!
      table[(p * pairs + i) * 2] = attention * Math.cos(angle)
      table[(p * pairs + i) * 2 + 1] = attention * Math.sin(angle)
    }
  }
  return table
}
