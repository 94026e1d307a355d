/** What was found, as tables: a row for each family. */
import { AS_FAR, AS_USED, EXACT, FORMS, GPUS } from './our-core.js'
import { OVER_LLAMA_CPP } from './over-llama-cpp.js'
import type { Row } from './rows.js'

const NONE = '–'
export const OLD = '†'
const COUNT = 'tokens or texts'
const NO_GRID = { heads: [], rows: new Map() } as const

const figure = (value: number) => value.toExponential(0).replace('e+0', '')
const marked = ({ good }: Row, text: string) => (good ? text : `**${text}**`)

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...lines.map(line)].join('\n')
}

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]

function definitions(rows: readonly Row[]): string {
  const lines = distinct(rows.map(({ family }) => family)).map((family) => {
    const own = rows.filter((row) => row.family === family)
    const peer = own.find(({ kind }) => kind === 'llama.cpp')
    const mistakes = own.filter(({ kind }) => kind === 'mistake')
    const found = mistakes.filter(({ good }) => good)
    const least = Math.min(...mistakes.map(({ worst }) => worst))
    return [
      family,
      peer ? marked(peer, peer.cosine === undefined ? figure(peer.worst) : peer.cosine.toFixed(7)) : NONE,
      peer ? String(peer.tokens) : NONE,
      mistakes.length === found.length ? String(found.length) : `**${found.length} of ${mistakes.length}**`,
      mistakes.length === 0 ? NONE : figure(least),
    ]
  })
  return table(['float64', 'llama.cpp is off by', COUNT, 'mistakes found', 'smallest effect of one'], lines)
}

/** Nats; where activations are rounded, or llama.cpp computes, how many times as far off as llama.cpp. */
function distanceOf({ device, worst, rms, bound, otherExperts }: Row): string {
  if (device !== AS_USED && device !== OVER_LLAMA_CPP) return figure(worst)
  const times = `${((AS_FAR * rms) / bound).toFixed(2)} x`
  return otherExperts ? `${times} (${otherExperts} at ties)` : times
}

/** A column for each form of the weights, on one device. */
function ours(rows: readonly Row[], device: string): string {
  const here = rows.filter((row) => row.device === device)
  const forms = WHAT.filter((form) => here.some(({ what }) => what === form))
  const lines = distinct(here.map(({ family }) => family)).map((family) => {
    const own = here.filter((row) => row.family === family)
    const cells = forms.map((form) => {
      const row = own.find(({ what }) => what === form)
      return row ? marked(row, distanceOf(row)) : NONE
    })
    return [family, distinct(own.map(({ tokens }) => tokens)).join(', '), ...cells]
  })
  return table([device, COUNT, ...forms], lines)
}

/** How far probabilities of options lie from each alone in float64, on every device; and on all of them from llama.cpp. */
function decisions(rows: readonly Row[]): string {
  const devices = DEVICES.filter((device) => rows.some((row) => row.device === device))
  const lines = distinct(rows.map(({ family }) => family)).map((family) => {
    const own = rows.filter((row) => row.family === family)
    const cells = devices.map((device) => {
      const row = own.find((one) => one.device === device)
      return row ? marked(row, figure(row.worst)) : NONE
    })
    const peers = own.flatMap(({ worstOfPeer }) => worstOfPeer ?? [])
    return [family, String(own[0]!.tokens), ...cells, peers.length > 0 ? figure(Math.max(...peers)) : NONE]
  })
  return table(['decisions', 'options', ...devices, 'difference from llama.cpp'], lines)
}

const DEVICES: readonly string[] = ['', EXACT, AS_USED, OVER_LLAMA_CPP, ...GPUS.map(({ name }) => name)]
const WHAT: readonly string[] = FORMS.map(({ name }) => name)

/** In the order of `families`, of forms and of devices, however they were found. */
export function report(found: readonly Row[], families: readonly string[]): string {
  const place = ({ family, device, what }: Row) =>
    [DEVICES.indexOf(device), families.indexOf(family), WHAT.indexOf(what)] as const
  const rows = [...found].sort((one, two) => {
    const [a, b] = [place(one), place(two)]
    return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
  })
  const defined = rows.filter(({ device }) => device === '')
  const decided = rows.filter(({ kind }) => kind === 'decisions')
  const others = rows.filter(({ kind }) => kind !== 'decisions')
  const devices = DEVICES.slice(1).filter((device) => others.some((row) => row.device === device))
  const parts = [
    ...(defined.length > 0 ? [definitions(defined)] : []),
    ...devices.map((device) => ours(others, device)),
    ...(decided.length > 0 ? [decisions(decided)] : []),
  ]
  return parts.join('\n\n')
}

interface Grid {
  readonly heads: readonly string[]
  /** By the first cell of a row, its cells by their heads. */
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/** The table that begins with this head. */
export function gridOf(within: string, head: string): Grid | undefined {
  // Another table may have a column of that name.
  const from = `\n${within}`.indexOf(`\n| ${head} |`)
  if (from < 0) return undefined
  const lines = within.slice(from).split('\n')
  const end = lines.findIndex((line) => !line.startsWith('|'))
  const cells = (line: string) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim())
  const [heads = [], , ...rows] = (end < 0 ? lines : lines.slice(0, end)).map(cells)
  return { heads, rows: new Map(rows.map((row) => [row[0]!, new Map(heads.map((name, i) => [name, row[i]!]))])) }
}

/** What stands in the older table alone, which an earlier version of the code has computed, is marked so. */
function over(older: Grid, newer: Grid, families: readonly string[]): string {
  const [first, ...others] = newer.heads
  const forms = [...others, ...older.heads.slice(1).filter((head) => !others.includes(head))]
  const heads = others.every((head) => WHAT.includes(head) || head === COUNT) ? [COUNT, ...WHAT] : forms
  const shown = heads.filter((head) => forms.includes(head))
  const lines = families
    .filter((family) => newer.rows.has(family) || older.rows.has(family))
    .map((family) => {
      const [now, before] = [newer.rows.get(family), older.rows.get(family)]
      const cells = shown.map((head) => {
        const [found = NONE, known = NONE] = [now?.get(head), before?.get(head)]
        if (found !== NONE || known === NONE) return found
        return head === COUNT || known.endsWith(OLD) ? known : `${known}${OLD}`
      })
      return [family, ...cells]
    })
  return table([first!, ...shown], lines)
}

/** `text` with these tables in its section, and what they do not have left as it stood there, marked as old. */
export function withTables(text: string, section: string, tables: string, families: readonly string[]): string {
  const from = text.indexOf(`## ${section}\n`)
  if (from < 0) throw new Error(`There is no section "${section}".`)
  const begin = text.indexOf('\n| ', from) + 1
  const next = text.indexOf('\n## ', from)
  if (begin === 0 || (next >= 0 && begin > next)) throw new Error(`The section "${section}" has no table.`)
  const before = text.slice(begin, next < 0 ? undefined : next)
  const parts = [
    ...new Set([...before.split('\n\n'), ...tables.split('\n\n')].map((part) => /^\| ([^|]+) \|/.exec(part)?.[1])),
  ]
  const written = parts
    .filter((head) => head !== undefined)
    .map((head) => {
      const [older, newer] = [gridOf(before, head), gridOf(tables, head)]
      return over(older ?? NO_GRID, newer ?? { heads: older!.heads, rows: new Map() }, families)
    })
  return `${text.slice(0, begin)}${written.join('\n\n')}\n${next < 0 ? '' : text.slice(next)}`
}
