/** Counts by name, and how they differ from what is expected. */

export type Count = number | string | boolean
export interface Counts {
  readonly [name: string]: Count | Counts
}

/** A sentence for each count that is another, new or gone. */
export function differences(expected: Counts, found: Counts, path: readonly string[] = []): string[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)])
  return [...names].flatMap((name) => {
    const [was, is] = [expected[name], found[name]]
    const at = [...path, name]
    if (typeof was === 'object' || typeof is === 'object') {
      return differences(typeof was === 'object' ? was : {}, typeof is === 'object' ? is : {}, at)
    }
    if (was === is) return []
    const place = at.join(' / ')
    if (was === undefined) return [`${place}: ${is}, which is new`]
    return [is === undefined ? `${place}: was ${was}, and is no longer counted` : `${place}: was ${was}, is ${is}`]
  })
}

export const ACCEPT = `A count is never chance: it is a fault, or a change that is meant. \`npm run bench:guard -- --write\`
accepts it; commit bench/guard/expected.json with what changed it, in a commit of its own that says why.`
