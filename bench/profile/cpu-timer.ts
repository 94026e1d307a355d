/** Times of the CPU device's operations, which run one by one while it is on. */
import type { FunctionName } from '../../src/device/cpu/abi.js'
import type { OperationProfiler } from '../../src/device/cpu/pass-host.js'
import type { Current, Operation, Timed, Timer } from './operation.js'

/** Those that are not told by their own names. */
const KERNELS: Readonly<Partial<Record<FunctionName, string>>> = {
  norm: 'norm and round',
  prepare: 'round',
  matmul: 'product',
  activate: 'activate and round',
  delta: 'delta rule',
  gated: 'product, activate and round',
  topKExperts: 'choose experts',
  expertMatmul: 'product with experts',
  combineExperts: 'add up experts',
}

export class CpuTimer implements Timer, OperationProfiler {
  on = false
  readonly #current: Current
  #recorded: { readonly operation: Operation; readonly kernel: FunctionName; readonly pays: boolean }[] = []
  #paid: Operation | undefined
  #timed: Timed[] = []

  constructor(current: Current) {
    this.#current = current
  }

  begin(): void {
    this.#recorded = []
  }

  recorded(name: FunctionName): void {
    const { operation } = this.#current
    // The first function of its own stands for all: the others of a matrix in bands, or in halves, have the same name.
    const pays = operation !== this.#paid && operation.functions.includes(name)
    if (pays) this.#paid = operation
    this.#recorded.push({ operation, kernel: name, pays })
  }

  run<T>(index: number | 'sample', operation: () => T): T {
    const start = performance.now()
    const result = operation()
    const milliseconds = performance.now() - start
    this.#timed.push({ ...this.#describe(index), milliseconds })
    return result
  }

  #describe(index: number | 'sample'): Omit<Timed, 'milliseconds'> {
    if (index === 'sample') {
      const { name, logits } = this.#current.operation
      return { operation: name, kernel: 'sample', bytes: logits, multiplications: 0 }
    }
    const { operation, kernel, pays } = this.#recorded[index]!
    const { name, weights, cache, multiplications } = operation
    return {
      operation: name,
      kernel: KERNELS[kernel] ?? kernel,
      bytes: pays ? weights + cache : 0,
      multiplications: pays ? multiplications : 0,
    }
  }

  async collect(): Promise<readonly Timed[]> {
    const timed = this.#timed
    this.#timed = []
    return timed
  }

  destroy(): void {}
}
