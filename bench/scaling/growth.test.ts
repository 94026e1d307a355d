import { expect, it } from 'vitest'
import { FAMILIES } from '../../src/bench/families.js'
import { fits } from '../../src/bench/scenarios/scenario.js'
import type { Subject } from '../../src/bench/subject.js'
import type { Costs } from './fit.js'
import { HEAD, lineOf, type Step, shapeOf, stepsOf, TOKENS } from './growth.js'

it('steps go to contexts of 32k, batches of 16 and vocabularies of 262k, and quick ones a part of the way', () => {
  const all = stepsOf(false)
  const most = (of: (step: Step) => number) => Math.max(...all.map(of))
  expect(most(({ context }) => context)).toBe(32_000)
  expect(most(({ batch }) => batch)).toBe(16)
  expect(most(({ shape }) => shapeOf(shape).vocabulary)).toBe(262_144)
  const quick = stepsOf(true)
  expect(quick.length).toBeLessThan(all.length)
  for (const step of quick) expect(all).toContainEqual(step)
})

it('each has room in the context of its shape', () => {
  for (const { shape, context, batch } of stepsOf(false)) {
    const { max_position_embeddings: room = 65_536 } = FAMILIES[shape]?.().config ?? {}
    const about = { contextLength: room } as Subject['about']
    expect(fits({ about } as Subject, context + TOKENS), `${shape} ${context} ${batch}`).toBe(true)
  }
})

it('a Gemma is a shape of its sizes, with windows in all layers but every sixth', () => {
  expect(shapeOf('Gemma-3-270M-like')).toEqual({
    ...{ hidden: 640, inner: 2048, layers: 18, heads: 4, keyHeads: 1, headSize: 256, vocabulary: 262_144 },
    windows: { layers: 15, positions: 512 },
  })
  expect(shapeOf('nano-like').windows).toBeUndefined()
})

it('a line has a cell for each title, and growth beside the first of its group', () => {
  const [step] = stepsOf(true)
  const found = (prompt: number) => ({ step: step!, measured: { prompt, step: 0.5 } })
  const costs = { products: 1e-9, promptProducts: 1e-9 } as Partial<Costs> as Costs
  const known = Object.fromEntries(
    ['answers', 'operations', 'weightBytes', 'cacheBytes', 'attention', 'logits'].map((reason) => [reason, 0]),
  )
  const line = lineOf(found(0.3), found(0.1), { ...known, ...costs })
  const cells = line.split('|').slice(1, -1)
  expect(cells).toHaveLength(HEAD.split('\n')[0]!.split('|').length - 2)
  expect(cells.map((cell) => cell.trim()).slice(5)).toEqual(['300', '3.00', '1.00', '500', '1.00', '1.00'])
  // Where a prompt costs what its rows are multiplied for, one four times as long costs four times as much.
  const four = { ...found(0.3), step: { ...step!, context: 4 * step!.context } }
  const growth = lineOf(four, found(0.1), { ...known, ...costs, products: 0 }).split('|')[8]
  expect(growth!.trim()).toBe('4.00')
})
