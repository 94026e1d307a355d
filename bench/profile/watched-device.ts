/** A device that tells which operation is being recorded, and how long recording and waiting take. */
import type { Batch, Device, Matrix, Pass } from '../../src/device/contract.js'
import type { ArgumentKinds, Operation as DeviceOperation, Functions } from '../../src/device/operations/define.js'
import type { MatmulOptions } from '../../src/device/operations/matmul/index.js'
import type { Current, Operation, Timer } from './operation.js'

/** Milliseconds of one pass, as the caller sees it. */
export interface Seen {
  /** Until all operations were asked for. */
  readonly recording: number
  /** In `submit`, until it returned: the CPU device computes here. */
  readonly submitting: number
  /** Until its result was there. */
  readonly waiting: number
}

export function watch(device: Device, current: Current, timer: Timer, seen: (pass: Seen) => void): Device {
  return {
    info: device.info,
    limits: device.limits,
    get memory() {
      return device.memory
    },
    lost: device.lost,
    matrix: (data, options) => device.matrix(data, options),
    growingMatrix: (bands, options) => device.growingMatrix(bands, options),
    matrixBytes: (shape) => device.matrixBytes(shape),
    vector: (values) => device.vector(values),
    activations: (rows, columns) => device.activations(rows, columns),
    routing: (shape) => device.routing(shape),
    cache: (shape) => device.cache(shape),
    states: (shape) => device.states(shape),
    sampler: (shape) => device.sampler(shape),
    begin(batch) {
      timer.begin()
      const start = performance.now()
      return watchPass(device.begin(batch), batch, current, start, seen)
    },
    idle: () => device.idle(),
    destroy: () => device.destroy(),
  }
}

type Watched = Pick<DeviceOperation<ArgumentKinds, unknown[], Functions>, 'name' | 'others' | 'cost'>

/** What each operation of a pass is called, and what it costs. */
function tellerOf({ sampler, spans }: Batch, rows: number) {
  const longest = Math.max(...spans.map(({ tokens, position }) => position + tokens.length))
  // Gates come before the second product that is added.
  let gates = false
  const productOf = ({ rows }: Matrix, { gated = false, add = false }: MatmulOptions = {}) => {
    const afterGates = gates
    gates = gated
    if (gated) return 'gate and up'
    if (add) return afterGates ? 'down' : 'attention out'
    return rows === sampler?.shape.vocabulary ? 'logits' : 'queries, keys, values'
  }
  return ({ name, others = {}, cost }: Watched, operands: readonly unknown[]): Partial<Operation> => {
    const product = name === 'matmul' ? productOf(operands[0] as Matrix, operands[3] as MatmulOptions) : undefined
    return {
      name: product ?? (name === 'attend' ? 'attention' : name),
      functions: [name, ...Object.keys(others)],
      ...cost?.({ spans, rows, longest }, ...operands),
    }
  }
}

function watchPass(pass: Pass, batch: Batch, current: Current, start: number, seen: (pass: Seen) => void): Pass {
  const describe = tellerOf(batch, pass.rows)
  // What the CPU device does not compute before it is submitted.
  let sampling: Partial<Operation> = {}
  const submit = async () => {
    const recorded = performance.now()
    const result = current.during(sampling, () => pass.submit())
    const submitted = performance.now()
    const rows = await result
    const waiting = performance.now() - submitted
    seen({ recording: recorded - start, submitting: submitted - recorded, waiting })
    return rows
  }
  return new Proxy(pass, {
    get(target, name) {
      if (name === 'submit') return submit
      const value = Reflect.get(target, name, target) as unknown
      if (typeof value !== 'function') return value
      // Each operation is seen.
      if (name === 'repeated') return (_owner: object, _facts: unknown, record: () => void) => record()
      if (name !== 'run') return value.bind(target)
      return (operation: Watched, ...operands: unknown[]) => {
        const about = describe(operation, operands)
        if (about.name === 'sample') sampling = about
        return current.during(about, () => value.call(target, operation, ...operands))
      }
    },
  })
}
