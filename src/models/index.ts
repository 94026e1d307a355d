/** The door of this room. Files of models, architectures and their layers, and how they run on a device. */

export { MOST_TRIAL_COST } from './cache-cost.js'
export { CATALOG, NANO } from './catalog.js'
export { Core } from './core.js'
export { type EncoderLoadPlan, loadEncoderPlanned, makesVectors, planEncoderLoad } from './encoders/load-encoder.js'
export { purposeOf } from './encoders/read-vectors.js'
export type { Purpose } from './encoders/vector-plan.js'
export { isCopy, isRemote } from './files/address.js'
export type { NamedBlob } from './files/blobs.js'
export { download, type Fetch } from './files/download.js'
export { asBroken, broken, understood } from './files/failure.js'
export { fetchAll } from './files/fetch-all.js'
export { folderFiles } from './files/folder.js'
export { mlc, textOfMlc } from './files/formats/mlc.js'
export { surveyed } from './files/here.js'
export { digestOf } from './files/json.js'
export { idOf, locationOf, type ModelLocation, REPOSITORY_ID } from './files/location.js'
export {
  describeRepository,
  type FileHead,
  forget,
  type HeadCheck,
  isWhole,
  keptOf,
  openOnDisk,
  openRepository,
  siblingsOf,
  surveyRepository,
} from './files/open.js'
export type { LoadReport } from './files/progress.js'
export { quantisationOf } from './files/quantisation.js'
export { RemoteFiles } from './files/remote.js'
export { sliceOfFile } from './files/slice-of-file.js'
export type { Naming, RawTensor, TensorType, WeightCheck, WeightOutline, WeightSource } from './files/source.js'
export {
  type FreeOptions,
  freeStorage,
  noteCost,
  notedCost,
  type StorageOptions,
  type StoredModel,
  storedModels,
} from './files/storage.js'
export { type CacheChoice, storeFor } from './files/store/choose.js'
export { crossOriginStorage, sharedStore } from './files/store/cross-origin.js'
export { defaultFolder } from './files/store/disk.js'
export { listForeign, modelsIn } from './files/store/foreign/index.js'
export { noStore } from './files/store/memory.js'
export { type KeepOptions, type KeptFile, keepFile, keptFiles, removeFile } from './files/store/origin.js'
export type { FileStore, StoredFile } from './files/store/store.js'
export { verify } from './files/verify.js'
export { type CacheTrial, type LoadOptions, loadCore, loadPlanned } from './load.js'
export { type LoadPlan, planModel } from './plan-model.js'
export { canShrink } from './planned.js'
export { sampleRowOf } from './sampling.js'
export { bytes } from './short.js'
export type { VectorCore } from './vector-core.js'
