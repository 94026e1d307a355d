import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BenchReport } from '../../src/bench/report.js'
import { SHAPES } from '../../src/bench/shapes.js'
import { capacityOf, DEVICES, promptSeconds, stepSeconds } from './devices.js'
import { type Costs, errorsOf, fitCosts, leaveOneOut, type Point, predict } from './fit.js'
import { pointsOf } from './points.js'
import { scalingFigures } from './print.js'
import { cacheBytesPerToken, decodeWork, documentWork, promptWork, weightsOf } from './work.js'
import { withFigures } from './write.js'

const folder = new URL('points/', import.meta.url)
const reports = readdirSync(folder)
  .sort()
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as BenchReport)

const KNOWN: Costs = {
  answers: 2e-4,
  operations: 1e-6,
  weightBytes: 1e-10,
  products: 2e-11,
  promptProducts: 1e-11,
  cacheBytes: 3e-10,
  attention: 1e-10,
  logits: 5e-9,
}
const points: Point[] = ['nano-like', 'stories15M-like', 'SmolLM2-135M-like', 'Llama-3.2-1B-like'].flatMap((shape) => {
  const works = [16, 128, 448].flatMap((context) => [
    promptWork(SHAPES[shape]!, context, 64),
    ...[1, 4, 8].map((batch) => decodeWork(SHAPES[shape]!, context, batch, 16)),
  ])
  return works.map((work, i) => ({ shape, what: `${i}`, work, seconds: predict(KNOWN, work) }))
})

describe('the work of an answer', () => {
  const shape = SHAPES['SmolLM2-135M-like']!

  it('reads all weights once per pass, and multiplies them once per row', () => {
    const { layers, head } = weightsOf(shape)
    const [one, eight] = [decodeWork(shape, 0, 1, 1), decodeWork(shape, 0, 8, 1)]
    expect(one.products).toBe(layers + head)
    expect(eight.products).toBe(8 * one.products)
    expect(eight.weightBytes).toBe(one.weightBytes)
    expect(promptWork(shape, 128, 64)).toMatchObject({ products: head, promptProducts: 128 * layers })
    expect(promptWork(shape, 128, 64).weightBytes).toBeLessThan(2 * one.weightBytes)
  })

  it('of layers with windows looks back at no more than these, position by position', () => {
    const [layers, positions] = [shape.layers - 5, 100]
    const windowed = { ...shape, windows: { layers, positions } }
    const perPosition = 2 * shape.heads * shape.headSize
    const seen = (tokens: number, most: number) => {
      let sum = 0
      for (let position = 1; position <= tokens; position++) sum += Math.min(position, most)
      return sum
    }
    for (const tokens of [64, 100, 150, 300]) {
      const looks = 5 * seen(tokens, tokens) + layers * seen(tokens, positions)
      expect(promptWork(windowed, tokens, 64).attention, `${tokens}`).toBeCloseTo(perPosition * looks)
    }
    // Rows of a pass share what they read: the 22 from the 129th on, which see 100, begin at the 30th.
    const read = (last: number) => 64 + 128 + last
    const perLayer = cacheBytesPerToken(shape) / shape.layers
    const readBytes = perLayer * (5 * read(150) + layers * read(121))
    expect(promptWork(windowed, 150, 64).cacheBytes).toBeCloseTo(readBytes)
    const [near, far] = [200, 2000].map((context) => decodeWork(windowed, context, 2, 1))
    expect(far!.attention - near!.attention).toBe(perPosition * 5 * 2 * 1800)
    expect(far!.cacheBytes / near!.cacheBytes).toBeCloseTo((5 * 2000 + layers * 100) / (5 * 200 + layers * 100))
    expect(decodeWork(windowed, 50, 2, 1)).toEqual(decodeWork(shape, 50, 2, 1))
  })

  it('of what the grammar decides is multiplied, but never drawn', () => {
    const [plain, document] = [decodeWork(shape, 100, 1, 100), documentWork(shape, 100, 100, 0.75)]
    expect(document.logits).toBeCloseTo(plain.logits / 4)
    expect(document.weightBytes).toBeCloseTo(plain.weightBytes / 4)
    expect(document.products).toBeGreaterThan(plain.products / 2)
    expect(documentWork(shape, 100, 100, 0)).toEqual(plain)
  })
})

describe('the fit', () => {
  it('finds the prices that points were made with, also of shapes it has not seen', () => {
    expect(errorsOf(fitCosts(points), points).worst).toBeLessThan(0.02)
    for (const [shape, { worst }] of leaveOneOut(points)) expect(worst, shape).toBeLessThan(0.1)
  })

  it('never gives time back', () => {
    const noisy = points.map((point, i) => ({ ...point, seconds: point.seconds * (i % 2 === 0 ? 0.5 : 2) }))
    for (const cost of Object.values(fitCosts(noisy))) expect(cost).toBeGreaterThanOrEqual(0)
  })
})

describe('devices', () => {
  const shape = SHAPES['Llama-3.2-1B-like']!

  it.each(DEVICES)('$name: longer contexts, larger batches and larger models take longer', (device) => {
    expect(stepSeconds(device, shape, 4096, 1)).toBeGreaterThan(stepSeconds(device, shape, 16, 1))
    expect(stepSeconds(device, shape, 1024, 8)).toBeGreaterThan(stepSeconds(device, shape, 1024, 1))
    expect(stepSeconds(device, shape, 1024, 8)).toBeLessThan(8 * stepSeconds(device, shape, 1024, 1))
    expect(promptSeconds(device, shape, 2048)).toBeGreaterThan(promptSeconds(device, shape, 1024))
    expect(capacityOf(device, shape).perMinute).toBeGreaterThan(0)
  })
})

describe('SCALING.md', () => {
  it('holds what the command prints', () => {
    const text = readFileSync(new URL('../SCALING.md', import.meta.url), 'utf8')
    expect(withFigures(text, scalingFigures(reports))).toBe(text)
  })

  it('refuses points of different machines', () => {
    const [one, ...others] = reports
    const elsewhere = { ...one!, machine: { ...one!.machine, processor: 'another' } }
    expect(() => scalingFigures([elsewhere, ...others])).toThrow(/not of one machine/)
  })

  it('stands on points of at least four shapes', () => {
    expect(new Set(pointsOf(reports, 'cpu').map(({ shape }) => shape)).size).toBeGreaterThanOrEqual(4)
  })
})
