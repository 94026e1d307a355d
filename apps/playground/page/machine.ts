import type { Installed } from 'local-v1/service-worker'
import type { Model } from './api.js'
import { bytes } from './format.js'

/** What this device is, as far as a browser tells. */
export interface Machine {
  /** A graphics processor computes. */
  readonly webgpu: boolean
  /** What that means, or why there is none, in words for people. */
  readonly explanation: string
  /** Gigabytes of memory; browsers round it, and say 8 for more. */
  readonly memoryGb: number | undefined
  /** Bytes that may still be stored. */
  readonly storage: number | undefined
  /** Models run on the server that the page came from, which alone knows what fits. */
  readonly elsewhere?: boolean
  /** Bytes of memory that models may take there, where it tells. */
  readonly free?: number
}

export interface Advice {
  readonly kind: 'good' | 'slow' | 'bad'
  readonly text: string
}

/** From about half a billion weights on, a processor needs seconds before the first word. */
const SLOW_ON_CPU = 275_000_000

export async function lookAtMachine({ webgpu, explanation }: Installed): Promise<Machine> {
  const { deviceMemory } = navigator as { deviceMemory?: number }
  const estimate = await navigator.storage?.estimate?.().catch(() => undefined)
  const storage = estimate?.quota === undefined ? undefined : estimate.quota - (estimate.usage ?? 0)
  return { webgpu: webgpu === 'available', explanation, memoryGb: deviceMemory, storage }
}

/** Whether this device runs the model, and how well. */
export function adviceFor({ metadata = {}, offered }: Model, machine: Machine): Advice {
  const {
    does_not_fit,
    memory_bytes: memory,
    download_bytes: download,
    kept_bytes: kept = 0,
    loaded,
    device,
  } = metadata
  if (does_not_fit) return { kind: 'bad', text: does_not_fit }
  const where =
    device === 'webgpu' || (device === undefined && machine.webgpu) ? 'the graphics processor' : 'the processor'
  if (loaded) return { kind: 'good', text: `Running on ${where}${machine.elsewhere ? ' of the server' : ''}.` }
  if (machine.elsewhere && !offered) return { kind: 'good', text: 'The server loads it on the first request.' }
  if (memory !== undefined && machine.free !== undefined && memory > machine.free) {
    const text = `The server has ${bytes(machine.free)} of memory free, and the model takes ${bytes(memory)}.`
    return { kind: 'bad', text }
  }
  const { storage, memoryGb } = machine
  if (download !== undefined && storage !== undefined && download - kept > storage) {
    return {
      kind: 'bad',
      text: `This browser can store ${bytes(storage)} more, and the model takes ${bytes(download)}.`,
    }
  }
  if (memory !== undefined && memoryGb !== undefined && memoryGb < 8 && memory > memoryGb * 4e8) {
    return { kind: 'bad', text: `May not fit: this device has ${memoryGb} GB of memory in total.` }
  }
  if (where === 'the processor' && (download ?? 0) > SLOW_ON_CPU) {
    return {
      kind: 'slow',
      text: 'Runs on the processor here, slowly: expect to wait for the first word.',
    }
  }
  return { kind: 'good', text: `Runs on ${where} of ${machine.elsewhere ? 'the server' : 'this device'}.` }
}
