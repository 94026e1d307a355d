/** A GPU that computes nothing and counts what it is asked for: as much as any GPU would be, on every machine. */

export interface GpuCounts {
  dispatches: number
  /** Of all dispatches. */
  workgroups: number
  /**
   * Dispatches and copies that must wait for an earlier one of the same submit, as they read what it wrote, or write
   * what it read or wrote: a GPU runs everything between two of them side by side.
   */
  barriers: number
  submits: number
  /** Times that it has nothing to do until the host has read something back. */
  stalls: number
  /** Bytes that the host writes into buffers that are there. */
  written: number
  /** Bytes that come back. */
  read: number
  bindGroups: number
  pipelines: number
  /** Bytes of buffers that are made. */
  made: number
}

export interface Dispatched {
  readonly kernel: string
  readonly source: string
  readonly workgroups: number
}

const READ_BACK = 0x1
/** Of the event loop: a host that lets others have theirs between two tokens takes some. */
const TURNS = 8

/** How long things would take, in milliseconds, on a clock of its own: no machine's load shows in it. */
export interface Pretended {
  readonly dispatch: number
  /** From the end of what was submitted to the host's hearing of it. */
  readonly roundTrip: number
}

export class StillGpu {
  readonly device: GPUDevice
  /** The host's time, which whoever pretends to compute something there moves on. */
  now = 0
  pretended: Pretended = { dispatch: 0, roundTrip: 0 }
  #busyUntil = 0
  #recorded = 0
  #submitted = 0
  /** The last that was asked for. */
  #readBack: Promise<unknown> = Promise.resolve()
  #counts = nothing()
  /** What the next dispatch may not touch without waiting. */
  readonly #readSince = new Set<object>()
  readonly #writtenSince = new Set<object>()
  readonly #dispatched: Dispatched[] = []
  /** `false`: nothing is counted, so that the time of who asks is not the time of counting. */
  counting = true
  /** The host's side of every buffer that it fills: what it writes there is never looked at. */
  #sink = new ArrayBuffer(0)

  constructor() {
    this.device = this.#makeDevice() as unknown as GPUDevice
  }

  /** What was asked for since this was last called, and the dispatches with the names of their kernels. */
  take(): { counts: GpuCounts; kernels: string[]; dispatched: Dispatched[] } {
    const counts = this.#counts
    this.#counts = nothing()
    const dispatched = this.#dispatched.splice(0)
    return { counts, kernels: dispatched.map(({ kernel }) => kernel), dispatched }
  }

  #makeDevice() {
    const limits = {
      maxBufferSize: 2 ** 32,
      maxStorageBufferBindingSize: 2 ** 32,
      maxComputeWorkgroupStorageSize: 2 ** 15,
    }
    return {
      limits,
      features: new Set(),
      lost: new Promise(() => {}),
      addEventListener() {},
      pushErrorScope() {},
      popErrorScope: async () => null,
      destroy() {},
      queue: {
        submit: () => {
          this.#counts.submits++
          this.#submitted++
          this.#busyUntil = Math.max(this.now, this.#busyUntil) + this.#recorded * this.pretended.dispatch
          this.#recorded = 0
          // Submits run one after the other.
          this.#wait()
        },
        writeBuffer: (_to: object, _at: number, data: ArrayBufferView) => {
          this.#counts.written += data.byteLength
        },
        // Nobody goes on with it.
        onSubmittedWorkDone: async () => {},
      },
      createBuffer: (descriptor: GPUBufferDescriptor) => this.#makeBuffer(descriptor),
      createBindGroupLayout: ({ entries }: GPUBindGroupLayoutDescriptor) => ({ entries: [...entries] }),
      createPipelineLayout: (descriptor: object) => descriptor,
      createShaderModule: (descriptor: object) => descriptor,
      createBindGroup: (group: object) => {
        this.#counts.bindGroups++
        return group
      },
      createComputePipeline: (pipeline: object) => {
        this.#counts.pipelines++
        return pipeline
      },
      createComputePipelineAsync: async (pipeline: object) => {
        this.#counts.pipelines++
        return pipeline
      },
      createCommandEncoder: () => ({
        beginComputePass: () => this.#makePass(),
        copyBufferToBuffer: (from: object, _at: number, to: object) => this.#touch([from], [to]),
        clearBuffer: (buffer: object) => this.#touch([], [buffer]),
        finish: () => ({}),
      }),
    }
  }

  #makeBuffer({ size, usage, label }: GPUBufferDescriptor) {
    const readBack = (usage & READ_BACK) !== 0
    if (!readBack) this.#counts.made += size
    return {
      size,
      label: label ?? '',
      getMappedRange: () => {
        if (readBack) return new ArrayBuffer(size)
        if (this.#sink.byteLength < size) this.#sink = new ArrayBuffer(size)
        return this.#sink
      },
      mapAsync: () => {
        this.#counts.read += size
        const before = this.#submitted
        const done = this.#busyUntil
        // One after the other. By then the host has asked for all that it can ask for without waiting.
        this.#readBack = this.#readBack.then(async () => {
          for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
          if (this.#submitted === before) this.#counts.stalls++
          this.now = Math.max(this.now, done + this.pretended.roundTrip)
        })
        return this.#readBack
      },
      unmap() {},
      destroy() {},
    }
  }

  #makePass() {
    let pipeline: GPUComputePipelineDescriptor
    let group: {
      readonly layout: { readonly entries: GPUBindGroupLayoutEntry[] }
      readonly entries: GPUBindGroupEntry[]
    }
    return {
      setPipeline: (next: typeof pipeline) => {
        pipeline = next
      },
      setBindGroup: (_index: number, next: typeof group) => {
        group = next
      },
      dispatchWorkgroups: (x: number, y = 1, z = 1) => {
        if (!this.counting) return
        this.#counts.dispatches++
        this.#recorded++
        this.#counts.workgroups += x * y * z
        const { code: source = '' } = (pipeline.compute.module ?? {}) as unknown as Partial<GPUShaderModuleDescriptor>
        this.#dispatched.push({ kernel: pipeline.label ?? '', source, workgroups: x * y * z })
        const [reads, writes]: [object[], object[]] = [[], []]
        for (const { binding, resource } of group.entries) {
          const { type } = group.layout.entries[binding]!.buffer!
          ;(type === 'storage' ? writes : reads).push((resource as GPUBufferBinding).buffer)
        }
        this.#touch(reads, writes)
      },
      end() {},
    }
  }

  #touch(reads: readonly object[], writes: readonly object[]): void {
    const waits =
      reads.some((buffer) => this.#writtenSince.has(buffer)) ||
      writes.some((buffer) => this.#writtenSince.has(buffer) || this.#readSince.has(buffer))
    if (waits) {
      this.#counts.barriers++
      this.#wait()
    }
    for (const buffer of reads) this.#readSince.add(buffer)
    for (const buffer of writes) this.#writtenSince.add(buffer)
  }

  #wait(): void {
    this.#readSince.clear()
    this.#writtenSince.clear()
  }
}

const nothing = (): GpuCounts => ({
  dispatches: 0,
  workgroups: 0,
  barriers: 0,
  submits: 0,
  stalls: 0,
  written: 0,
  read: 0,
  bindGroups: 0,
  pipelines: 0,
  made: 0,
})
