/** Where rows go of which each goes to some of many experts, as words of one buffer. */
import type { RoutingShape } from '../../contract.js'

/** Words before the lists: the first says how many tiles there are. */
const HEADER = 4

/** Where its lists begin, in words. A row has a weight more than experts: that of what all rows share. */
export function routingLists({ rows, chosen }: Pick<RoutingShape, 'rows' | 'chosen'>) {
  const places = rows * chosen
  return { tiles: HEADER, rowOf: HEADER + 2 * places, placeOf: HEADER + 3 * places, weights: HEADER + 4 * places }
}

export const routingWords = ({ rows, chosen }: RoutingShape): number => HEADER + 5 * rows * chosen + rows

/**
 * Places of an expert whose products one workgroup makes, and how many tiles there may be of so many rows. A tile is the
 * number of its expert, with its places above bit 16, and the first of its places.
 */
export function tilesOf(
  { experts, chosen }: Pick<RoutingShape, 'experts' | 'chosen'>,
  rows: number,
  serial: boolean,
): { readonly held: number; readonly most: number } {
  const places = rows * chosen
  const held = rows === 1 ? 1 : places < 2 * experts ? 2 : places < 4 * experts || serial ? 4 : 8
  const active = Math.min(experts, places)
  return { held, most: Math.min(places, Math.floor((places + active * (held - 1)) / held)) }
}
