/** Runs in a process of its own: what opening the device leaves of V8's flags, and what it then computes. */
import { cachedDataVersionTag } from 'node:v8'
import { type CpuDeviceOptions, openCpuDevice } from './index.js'
import { layer } from './layer.test-helper.js'

export interface RevectorizeOutcome {
  readonly names: readonly string[]
  /** Numbers that V8 derives from its flags: at first, and after each device. */
  readonly tags: readonly number[]
  readonly values: readonly (readonly number[])[]
}

const tags = [cachedDataVersionTag()]
const names: string[] = []
const values: number[][] = []
for (const options of [{}, { revectorize: true }, { revectorize: true, threads: 3 }] satisfies CpuDeviceOptions[]) {
  const device = await openCpuDevice({ threads: 1, ...options })
  tags.push(cachedDataVersionTag())
  names.push(device.info.name)
  values.push([...(await layer(device, 6))])
  device.destroy()
}
console.log(JSON.stringify({ names, tags, values } satisfies RevectorizeOutcome))
