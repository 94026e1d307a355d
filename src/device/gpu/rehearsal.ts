/** A pass that is never run: it only finds out which kernels its like will need. */

import type { SampledRow } from '../contract.js'
import type { Kernel } from './kernels/kernel.js'
import { GpuPass } from './pass.js'
import type { Dispatch } from './tapes.js'

export class Rehearsal extends GpuPass {
  readonly kernels: Kernel[] = []

  protected override encode({ kernel }: Dispatch): void {
    this.kernels.push(kernel)
  }

  protected override fill(): void {}

  override async submit(): Promise<readonly SampledRow[]> {
    return []
  }

  protected override handOver(): void {}
}
