/** The report as an SVG: bars side by side, a line at each end of what was measured. It reads on light and on dark. */
import { type BenchReport, METRICS, type Metric, type Series } from './report.js'
import { figure, labelOf } from './table.js'

const PANELS: readonly { readonly title: string; readonly metrics: readonly Metric[] }[] = [
  { title: 'Reading a prompt, tokens a second', metrics: ['prefill'] },
  { title: 'Time to the first token, milliseconds', metrics: ['first-token', 'first-token-cached'] },
  { title: 'Writing, tokens a second over all streams', metrics: ['decode'] },
  { title: 'Strict JSON and free text, tokens a second', metrics: ['json-plain', 'json-strict', 'json-fresh'] },
  { title: 'Decisions a second', metrics: ['decide', 'decide-again', 'decide-json'] },
  { title: 'Through /v1, tokens a second', metrics: ['engine-alone', 'through-v1', 'through-v1-whole'] },
]
/** Of a middle lightness, told apart also by those who see few colours. */
const COLOURS = ['#3b82c4', '#d97706', '#4b9b6a', '#9a6fb8', '#b4544f', '#7a7a7a']
const WIDTH = 860
const LEFT = 250
const RIGHT = 120
const BAR = 13
const GAP = 5

export function chartOf(report: BenchReport): string {
  const parts: string[] = []
  let y = 30
  const text = (x: number, at: number, words: string, extra = '') =>
    parts.push(`<text x="${x}" y="${at}"${extra}>${inXml(words)}</text>`)
  text(16, y, `local-v1 ${report.version}`, ' class="title"')
  y += 18
  text(16, y, subtitle(report), ' class="dim"')
  y += 22
  report.subjects.forEach(({ name, model, device, deviceName }, i) => {
    parts.push(`<rect x="16" y="${y - 10}" width="12" height="12" rx="2" fill="${colour(i)}"/>`)
    text(34, y, `${name}: ${model} on ${device}, ${deviceName}`)
    y += 18
  })
  for (const { title, metrics } of PANELS) {
    const series = report.series.filter(({ metric }) => metrics.includes(metric))
    if (series.length === 0) continue
    y += 22
    text(16, y, title, ' class="title"')
    text(WIDTH - 16, y, `${METRICS[metrics[0]!].better} is better`, ' class="dim" text-anchor="end"')
    y += 12
    y = panel(series, report, parts, y)
  }
  y += 16
  const style = `text{font:13px system-ui,sans-serif;fill:#777}.title{font-weight:600}.dim{font-size:11px}
@media (prefers-color-scheme:dark){text{fill:#aaa}}.whisker{stroke:#777;stroke-width:1.5}`
  const label = inXml(`Speed of ${report.subjects.map(({ name }) => name).join(', ')}`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-label="${label}">
<style>${style}</style>
${parts.join('\n')}
</svg>
`
}

function panel(series: readonly Series[], report: BenchReport, parts: string[], top: number): number {
  const most = Math.max(...series.map((one) => one.most))
  const scale = (value: number) => (value / most) * (WIDTH - LEFT - RIGHT)
  const labels = [...new Set(series.map(labelOf))]
  let y = top
  for (const label of labels) {
    const bars = report.subjects.map(({ name }) => series.find((one) => one.subject === name && labelOf(one) === label))
    const shown = bars.filter((bar) => bar !== undefined).length
    const height = shown * (BAR + 2)
    parts.push(`<text x="${LEFT - 10}" y="${y + height / 2 + 4}" text-anchor="end">${inXml(label.trim())}</text>`)
    bars.forEach((bar, i) => {
      if (bar === undefined) return
      parts.push(...drawn(bar, colour(i), y, scale))
      y += BAR + 2
    })
    y += GAP
  }
  return y
}

function drawn({ median, least, most }: Series, fill: string, y: number, scale: (value: number) => number): string[] {
  const middle = y + BAR / 2
  const [from, to] = [LEFT + scale(least), LEFT + scale(most)]
  return [
    `<rect x="${LEFT}" y="${y}" width="${scale(median).toFixed(1)}" height="${BAR}" rx="2" fill="${fill}"/>`,
    `<line class="whisker" x1="${from.toFixed(1)}" x2="${to.toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${(to + 6).toFixed(1)}" y="${middle + 4.5}">${figure(median)}</text>`,
  ]
}

function subtitle({ date, machine, settings }: BenchReport): string {
  const where = [machine.processor, machine.cores && `${machine.cores} cores`, machine.runtime].filter(Boolean)
  const time = settings.clock === 'processor' ? ", by the processor's time" : ''
  const caption = `medians of ${settings.rounds} rounds, lines from the least to the most${time}`
  return `${date.slice(0, 10)}, ${where.join(', ')}: ${caption}`.slice(0, 140)
}

const colour = (i: number) => COLOURS[i % COLOURS.length]!

function inXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!)
}
