/** Measured points out of the reports of `npm run bench -- --json`. */

import type { BenchReport, Series } from '../../src/bench/report.js'
import { SHAPES } from '../../src/bench/shapes.js'
import type { Point } from './fit.js'
import { decodeWork, promptWork } from './work.js'

const CHUNK = { cpu: 64, webgpu: 256 } as const

/** Only what was measured of made-up models on one device counts: their shapes are known. */
export function pointsOf(reports: readonly BenchReport[], device: 'cpu' | 'webgpu'): Point[] {
  return reports.flatMap((report) =>
    report.subjects
      .filter((subject) => subject.device === device && subject.model.startsWith('made-up/'))
      .flatMap(({ name, model }) => ofSubject(report, name, model.slice('made-up/'.length), CHUNK[device])),
  )
}

function ofSubject({ series, settings }: BenchReport, name: string, shapeName: string, chunk: number): Point[] {
  const shape = SHAPES[shapeName]
  if (shape === undefined) throw new Error(`There is no shape ${shapeName}.`)
  const own = series.filter(({ subject }) => subject === name)
  const lengths = new Map(own.filter(is('prompt-tokens')).map(({ promptTokens, median }) => [promptTokens, median]))
  const tokens = settings.tokens as number
  const prompts = own.filter(is('first-token')).map(({ promptTokens, median }) => ({
    shape: shapeName,
    what: `prompt of ${promptTokens}`,
    work: promptWork(shape, Math.round(lengths.get(promptTokens) ?? promptTokens!), chunk),
    seconds: median / 1000,
  }))
  const decodes = own.filter(is('decode')).map(({ promptTokens, batch, median }) => ({
    shape: shapeName,
    what: `decode after ${promptTokens}, x${batch}`,
    work: decodeWork(shape, Math.round(lengths.get(promptTokens) ?? promptTokens!), batch!, tokens),
    seconds: (batch! * tokens) / median,
  }))
  return [...prompts, ...decodes]
}

const is = (metric: Series['metric']) => (series: Series) => series.metric === metric

export interface DocumentPoint {
  readonly shape: string
  /** Share of its tokens that the grammar decided. */
  readonly decided: number
  /** Share of the time that the grammar took itself. */
  readonly grammar: number
  /** Tokens a second under the schema over those of free text, as measured in one run. */
  readonly gain: number
}

export function documentsOf(reports: readonly BenchReport[], device: 'cpu' | 'webgpu'): DocumentPoint[] {
  return reports.flatMap(({ subjects, series }) =>
    subjects
      .filter((subject) => subject.device === device && subject.model.startsWith('made-up/'))
      .flatMap(({ name, model }) => {
        const one = (metric: Series['metric']) => series.find((each) => each.subject === name && each.metric === metric)
        const [decided, gain, grammar] = [one('json-forced'), one('json-ratio'), one('json-grammar')]
        if (decided === undefined || gain === undefined || grammar === undefined) return []
        return [
          {
            shape: model.slice('made-up/'.length),
            decided: decided.median / 100,
            gain: gain.median,
            grammar: grammar.median / 100,
          },
        ]
      }),
  )
}
