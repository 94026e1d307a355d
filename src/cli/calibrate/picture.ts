/** Reliability, before and after: how likely answers were said to be, and how often they were right. */
import type { Bin, Reliability } from './fit.js'

const WIDTH = 30

export interface Side {
  readonly title: string
  readonly reliability: Reliability
}

/** For the terminal: a bar as long as the share that is right, and a mark where it was said to be. */
export function printedReliability({ title, reliability: { accuracy, ece, logLoss, bins } }: Side): string {
  const head = `${title}: accuracy ${percent(accuracy)}, ECE ${ece.toFixed(3)}, log loss ${logLoss.toFixed(3)}\n`
  return (
    head +
    bins
      .filter(({ count }) => count > 0)
      .map(line)
      .join('')
  )
}

function line({ from, to, count, confidence, right }: Bin): string {
  const at = Math.min(WIDTH - 1, Math.floor(confidence * WIDTH))
  const bar = Array.from({ length: WIDTH }, (_, i) => (i === at ? '|' : i < Math.round(right * WIDTH) ? '#' : '.'))
  const range = `${percent(from)} to ${percent(to)}`.padStart(15)
  return `  ${range}  ${bar.join('')}  sure ${percent(confidence)}, right ${percent(right)}, of ${count}\n`
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

const SIZE = 300
const MARGIN = 50

/** The same side by side as an SVG: bars at what was right, and the diagonal where they should end. */
export function drawn(model: string, sides: readonly Side[]): string {
  const width = sides.length * (SIZE + MARGIN) + MARGIN
  const height = SIZE + 3 * MARGIN
  const panels = sides.map((side, i) => panel(side, MARGIN + i * (SIZE + MARGIN)))
  const label = inXml(`How sure ${model} was of its answers, and how often they were right`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${label}">
<style>text{font:13px system-ui,sans-serif;fill:#777}.title{font-weight:600}line,path{stroke:#777;fill:none}
@media (prefers-color-scheme:dark){text{fill:#aaa}line,path{stroke:#aaa}}</style>
<text x="${MARGIN}" y="26" class="title">${inXml(model)}</text>
${panels.join('\n')}
</svg>
`
}

function panel({ title, reliability: { ece, bins } }: Side, left: number): string {
  const bottom = SIZE + 2 * MARGIN - 10
  const up = (share: number) => (bottom - share * SIZE).toFixed(1)
  const across = (share: number) => (left + share * SIZE).toFixed(1)
  const bars = bins
    .filter(({ count }) => count > 0)
    .map(({ from, to, confidence, right, count }) => {
      const bar = `x="${across(from + 0.005)}" y="${up(right)}" width="${((to - from - 0.01) * SIZE).toFixed(1)}" height="${(right * SIZE).toFixed(1)}"`
      const label = `sure ${percent(confidence)}, right ${percent(right)}, of ${count}`
      return `<rect ${bar} fill="#3b82c4" fill-opacity="0.7"><title>${label}</title></rect>
<circle cx="${across(confidence)}" cy="${up(right)}" r="${Math.min(9, 2 + Math.sqrt(count) / 2).toFixed(1)}" fill="#d97706"/>`
    })
  return `<text x="${left}" y="${2 * MARGIN - 28}">${inXml(title)}: ECE ${ece.toFixed(3)}</text>
${bars.join('\n')}
<path d="M${across(0)} ${up(1)}V${up(0)}H${across(1)}"/>
<line x1="${across(0)}" y1="${up(0)}" x2="${across(1)}" y2="${up(1)}" stroke-dasharray="4 4"/>
<text x="${left}" y="${bottom + 18}">0</text><text x="${left + SIZE}" y="${bottom + 18}" text-anchor="end">1</text>
<text x="${left + SIZE / 2}" y="${bottom + 34}" text-anchor="middle">sure</text>
<text x="${left - 8}" y="${up(0.5)}" text-anchor="end">right</text>`
}

function inXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!)
}
