/** What was found, as tables: a row for each family. */
import { AS_FAR, AS_USED } from './our-core.js'
import type { Row } from './rows.js'

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
      peer ? marked(peer, peer.cosine === undefined ? figure(peer.worst) : peer.cosine.toFixed(7)) : '–',
      peer ? String(peer.tokens) : '–',
      mistakes.length === found.length ? String(found.length) : `**${found.length} of ${mistakes.length}**`,
      mistakes.length === 0 ? '–' : figure(least),
    ]
  })
  return table(['float64', 'llama.cpp is off by', 'tokens or texts', 'mistakes found', 'the least shows by'], lines)
}

/** Nats; where activations are rounded, how many times as far off as llama.cpp. */
const told = ({ device, worst, rms, bound }: Row) =>
  device === AS_USED ? `${((AS_FAR * rms) / bound).toFixed(2)} x` : figure(worst)

/** A column for each form of the weights, on one device. */
function ours(rows: readonly Row[], device: string): string {
  const here = rows.filter((row) => row.device === device)
  const forms = distinct(here.map(({ what }) => what))
  const lines = distinct(here.map(({ family }) => family)).map((family) => {
    const own = here.filter((row) => row.family === family)
    const cells = forms.map((form) => {
      const row = own.find(({ what }) => what === form)
      return row ? marked(row, told(row)) : '–'
    })
    return [family, distinct(own.map(({ tokens }) => tokens)).join(', '), ...cells]
  })
  return table([device, 'tokens or texts', ...forms], lines)
}

export function report(rows: readonly Row[]): string {
  const devices = distinct(rows.map(({ device }) => device).filter((device) => device !== ''))
  const asked = rows.filter(({ device }) => device === '')
  const parts = [...(asked.length > 0 ? [definitions(asked)] : []), ...devices.map((device) => ours(rows, device))]
  return parts.join('\n\n')
}
