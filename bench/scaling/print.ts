/** The figures of SCALING.md, as Markdown. */

import type { BenchReport } from '../../src/bench/report.js'
import { SHAPES } from '../../src/bench/shapes.js'
import { figure } from '../../src/bench/table.js'
import { answersThatFit, COMFORT, capacityOf, DEVICES, promptSeconds, stepSeconds, TURN } from './devices.js'
import { type Costs, errorsOf, fitCosts, leaveOneOut, type Point, predict } from './fit.js'
import { type DocumentPoint, documentsOf, pointsOf } from './points.js'
import { cacheBytesPerToken, decodeWork, documentWork, REASONS, type Reason, weightBytes } from './work.js'

const GIB = 2 ** 30
/** Tokens of the documents that the bench writes, and of the prompts before them, about. */
const DOCUMENT = { tokens: 100, context: 120 }
/** Prompt and context of the predictions. */
const CONTEXT = 1024
const STREAMS = [1, 8]
const MODELS = ['Qwen2.5-0.5B-like', 'Llama-3.2-1B-like', 'Llama-3.2-3B-like', 'Llama-3.1-8B-like']

export function scalingFigures(reports: readonly BenchReport[]): string {
  const points = pointsOf(reports, 'cpu')
  const costs = fitCosts(points)
  return [
    ...measuredOn(reports),
    '',
    '### What each part costs',
    '',
    ...costTable(costs, points),
    '',
    '### Predicted and measured',
    '',
    ...pointTable(costs, points),
    '',
    '### Shapes that the fit has not seen',
    '',
    ...unseenTable(points),
    '',
    '### Tokens that the grammar decides',
    '',
    ...documentTable(costs, documentsOf(reports, 'cpu')),
    '',
    '### Other devices, from public figures',
    '',
    ...deviceTables(),
    '',
    '### How much one device serves',
    '',
    ...capacityTable(),
  ].join('\n')
}

/** One line; prices of different machines have nothing to do with each other. */
function measuredOn(reports: readonly BenchReport[]): string[] {
  const lines = reports.map(({ machine, settings, subjects }) => {
    const clock = settings.clock === 'processor' ? 'processor time' : 'wall clock time'
    return `Measured on ${machine.processor}, ${subjects[0]!.deviceName}, ${machine.runtime}, in ${clock}.`
  })
  const [first] = lines
  const other = lines.find((line) => line !== first)
  if (other !== undefined) throw new Error(`These points are not of one machine: "${first}" and "${other}"`)
  return [first!]
}

function costTable(costs: Costs, points: readonly Point[]): string[] {
  const [whole, median] = [errorsOf(costs, points), share(errorsOf(costs, points).median)]
  const rows = (Object.keys(REASONS) as Reason[]).map((reason) => [REASONS[reason], unit(reason, costs[reason])])
  return [
    ...table(['part', 'cost'], rows),
    '',
    `Error of the fit over ${points.length} points: median ${median}, worst ${share(whole.worst)}.`,
  ]
}

function unit(reason: Reason, seconds: number): string {
  if (seconds === 0) return '0: cannot be separated from the others'
  if (reason === 'weightBytes' || reason === 'cacheBytes') return `1 / ${figure(1e-9 / seconds)} GB/s`
  if (/products|attention/i.test(reason)) return `1 / ${figure(1e-9 / seconds)} billion a second`
  if (reason === 'logits') return `${figure(seconds * 1e9)} ns`
  return `${figure(seconds * 1e6)} us`
}

function pointTable(costs: Costs, points: readonly Point[]): string[] {
  const rows = points.map(({ shape, what, work, seconds }) => {
    const predicted = predict(costs, work)
    return [shape, what, milliseconds(seconds), milliseconds(predicted), signed(predicted / seconds - 1)]
  })
  return table(['shape', 'measurement', 'measured', 'predicted', 'error'], rows)
}

function unseenTable(points: readonly Point[]): string[] {
  const rows = [...leaveOneOut(points)].map(([shape, { median, worst }]) => [shape, share(median), share(worst)])
  return table(['shape, predicted from the others', 'median error', 'worst'], rows)
}

function documentTable(costs: Costs, documents: readonly DocumentPoint[]): string[] {
  const { tokens, context } = DOCUMENT
  const rows = documents.map(({ shape, decided, gain, grammar }) => {
    const of = SHAPES[shape]!
    const plain = predict(costs, decodeWork(of, context, 1, tokens))
    const strict = predict(costs, documentWork(of, context, tokens, decided))
    const predicted = (plain / strict) * (1 - grammar)
    return [shape, share(decided), share(grammar), `x${figure(gain)}`, `x${figure(predicted)}`]
  })
  return table(
    ['shape', 'tokens decided by the grammar', 'time of the grammar itself', 'strict / plain, measured', 'predicted'],
    rows,
  )
}

function deviceTables(): string[] {
  const sizes = MODELS.map((name) => {
    const shape = SHAPES[name]!
    return [name, `${figure(weightBytes(shape) / GIB)} GiB`, `${figure(cacheBytesPerToken(shape) / 1024)} KiB`]
  })
  const rows = DEVICES.flatMap((device) =>
    MODELS.map((name) => {
      const shape = SHAPES[name]!
      const fits = answersThatFit(device, shape, CONTEXT)
      const speeds = STREAMS.map((streams) =>
        fits < streams ? '-' : figure(streams / stepSeconds(device, shape, CONTEXT, streams)),
      )
      const first = fits === 0 ? '-' : `${figure(promptSeconds(device, shape, CONTEXT))} s`
      return [device.name, name, first, ...speeds, fits === 0 ? 'too large' : String(Math.min(fits, 9999))]
    }),
  )
  const head = ['device', 'model', `first token after ${CONTEXT}`, ...STREAMS.map((n) => `tok/s, x${n}`)]
  return [
    ...table(['model', 'weights', 'cache per token'], sizes),
    '',
    ...table([...head, `contexts of ${CONTEXT} that fit`], rows),
    '',
    ...DEVICES.map(({ name, source }) => `- ${name}: ${source}`),
  ]
}

function capacityTable(): string[] {
  const rows = DEVICES.flatMap((device) =>
    MODELS.map((name) => {
      const { streams, perMinute } = capacityOf(device, SHAPES[name]!)
      return [device.name, name, String(streams), streams === 0 ? '-' : figure(perMinute)]
    }),
  )
  const turns = `answers a minute (${TURN.prompt} tokens in, ${TURN.answer} out)`
  return table(['device', 'model', `streams, of 8, with at least ${COMFORT} tok/s`, turns], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)]
}

const milliseconds = (seconds: number) => `${figure(seconds * 1000)} ms`
const share = (value: number) => `${(value * 100).toFixed(0)} %`
const signed = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value * 100).toFixed(0)} %`
