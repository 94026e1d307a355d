import type { LoadProgress } from './engine.js'

/** How much of how much: all bytes are there while kernels are compiled, which are counted as files are. */
export const doneOf = ({ phase, bytesLoaded, bytesTotal, filesLoaded, filesTotal }: LoadProgress): [number, number] =>
  phase === 'compile' ? [filesLoaded, filesTotal] : [bytesLoaded, bytesTotal]
