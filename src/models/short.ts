import { V1Error } from '../contract/index.js'

/** The error of a model for which a device is too small. */
export function short(name: string, needed: string, has: string): V1Error {
  return new V1Error(
    503,
    `${name} does not fit this device: it needs ${needed}, and the device allows ${has}. Choose a smaller model, or a smaller quantisation of it.`,
    {
      code: 'device_too_small',
      headers: { 'x-should-retry': 'false' },
    },
  )
}

export function bytes(count: number): string {
  return count < 1048576 ? `${count} bytes` : `${Math.ceil(count / 1048576)} MiB`
}
