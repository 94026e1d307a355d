/** The door of this room. What runtimes do differently, and small tools for all rooms. */
export { goBehind } from './behind.js'
export { BLOCK_TYPES, type BlockType, blockBytes, isBlockType } from './block-types.js'
export {
  bordersOf,
  hasStretch,
  isOfWord,
  isStretch,
  MAY_BEGIN,
  MAY_END,
  mayBegin,
  mayEnd,
  nextBegin,
} from './borders.js'
export { builtin, missingFlag, runtimeName } from './builtin.js'
export { base64, byteLength, commonLength, joined } from './bytes.js'
export {
  CACHE_BITS,
  CACHE_BLOCK,
  CACHE_TYPE_CHOICES,
  CACHE_TYPE_HELP,
  CACHE_TYPES_LISTED,
  type CacheType,
  type CacheTypeChoice,
  cacheBytes,
  cacheTypeCalled,
  isCacheTypeChoice,
  isPackedCacheType,
  keepsHeads,
  PACKED_CACHE_TYPES,
  PACKED_CACHES,
  type PackedCacheType,
} from './cache-types.js'
export {
  DAWN_UNSAFE,
  importWebgpu,
  lookForAdapter,
  MATRICES_FEATURE,
  type MatrixConfig,
  matricesOf,
  matrixConfigsOf,
  openDawn,
  type SeenAdapter,
  UNSAFE,
  VERBOSE,
} from './dawn.js'
export { hasEnded, processHost } from './ended.js'
export { eventData } from './event-stream.js'
export { exp, log, softmax } from './exact.js'
export { floatToHalf, halfToFloat } from './half.js'
export {
  canonical,
  exactJson,
  isRecord,
  isSmall,
  type JsonObject,
  noteNumber,
  objectIn,
  objectOf,
  rawObjectOf,
  sameJson,
  smallParts,
  spaced,
  spelled,
  textOfJson,
} from './json.js'
export { decodedPart, jsonPointer, pointerStep, referredTo } from './json-pointer.js'
export { keptError } from './kept-error.js'
export { getOrMake, LruMap } from './maps.js'
export { heldByNative, leaveNative, ofNative, whenNativeIsHere } from './native.js'
export { assertOptions, byId, type OptionNames } from './options.js'
export { PartQueue } from './part-queue.js'
export { placeOf } from './place-of.js'
export { beat, type Doing, during, inStage, Pulse, STAGES, showPulse } from './pulse.js'
export { dayOfIso } from './readers/calendar.js'
export {
  closestAround,
  type ReadableKind,
  readValue,
  stretchesIn,
  type ValueReading,
  type ValueType,
} from './readers/index.js'
export { agreedReading } from './readers/reading.js'
export { LANGUAGES, type LanguageWords } from './readers/words/index.js'
export { editDistance } from './spelling.js'
export { isForbidden } from './storage.js'
export { byteLevelName, byteName, bytesOfToken, type Spelling, spellingOf, typesIn } from './token-bytes.js'
export {
  atOnce,
  BEGIN_PER_TURN,
  beginSteps,
  breathe,
  CallerLines,
  Entrance,
  inTurns,
  mapped,
  myTurn,
  type Slices,
  whenTurnEnds,
  wholeTexts,
} from './turns.js'
export { abortable, allOver, atMost, wait } from './wait.js'
