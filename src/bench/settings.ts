import type { Settings } from './scenarios/scenario.js'
import { PARTS } from './subject.js'

const FULL: Settings = {
  only: PARTS,
  promptLengths: [32, 128, 512],
  batches: [1, 4, 8],
  tokens: 64,
  decisions: [1000, 64],
  documents: true,
  rounds: 5,
  leastSeconds: 1,
  clock: 'wall',
}
/** To see that it runs, and how fast roughly. */
const QUICK = {
  promptLengths: [32],
  batches: [1, 4],
  tokens: 16,
  decisions: [100, 8] as const,
  rounds: 2,
  leastSeconds: 0.1,
}

/** What was asked for, and the usual for the rest. */
export function settingsOf({ quick, ...chosen }: Partial<Settings> & { readonly quick?: boolean }): Settings {
  const usual: Settings = { ...FULL, ...(quick && QUICK) }
  const given = Object.entries(chosen).filter(([name, value]) => name in FULL && value !== undefined)
  return { ...usual, ...Object.fromEntries(given) }
}
