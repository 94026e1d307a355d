import type { ModelInfo } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import type { TextFiles } from '../../generate/index.js'
import type { LoadReport, WeightCheck, WeightOutline, WeightSource } from '../../models/index.js'
import type { OfferedModel } from './options.js'

/** A model repository, opened: weights can be read, the files about text have been. */
export interface OpenedRepository {
  readonly weights: WeightSource
  readonly text: TextFiles
}

export interface KeptWeights {
  readonly bytes: number
  /** All that is needed to load it without a network. */
  readonly whole: boolean
}

/** What the engine takes from outside. */
export interface Surroundings {
  /** Shown with each model. */
  readonly metadata?: NonNullable<ModelInfo['metadata']>
  openDevice(): Promise<Device>
  /** `check` is asked before weights are downloaded, and may refuse them. */
  openRepository(
    model: OfferedModel,
    report: LoadReport,
    signal: AbortSignal,
    check: WeightCheck,
  ): Promise<OpenedRepository>
  /** What its first small files say of it. Absent: that is known once it is loaded. */
  describe?(model: OfferedModel, signal: AbortSignal): Promise<Pick<WeightOutline, 'chatConfig' | 'sentence'>>
  /** The quantisations that its repository has, by the bytes of their files. Absent: nobody can tell. */
  siblings?(model: OfferedModel, signal: AbortSignal): Promise<ReadonlyMap<string, number>>
  /** What is kept of it from an earlier download. Absent: nothing is kept. */
  keptOf?(model: OfferedModel): Promise<KeptWeights>
  /** What a cache in 8 bits was found to cost a model of this identity. Absent, or undefined: nobody noted it. */
  notedCost?(model: OfferedModel, identity: string): Promise<number | undefined>
  /** Notes it, beside what was downloaded of it. */
  noteCost?(model: OfferedModel, identity: string, cost: number): Promise<void>
  /** Deletes what was downloaded of it. */
  forget?(model: OfferedModel): Promise<void>
}
