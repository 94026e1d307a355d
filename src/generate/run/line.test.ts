import { describe, expect, test } from 'vitest'
import type { TextTokens, VectorModel } from '../../contract/vector-model.js'
import { VectorLine } from './line.js'

/** A model that says which texts it was asked for together: a text's first token is its name. */
function recording(answer: (name: number) => number = (name) => name) {
  const batches: number[][] = []
  const model: VectorModel = {
    contextLength: 8,
    batchTokens: 10,
    batchTexts: 3,
    size: 1,
    fingerprint: 'fp',
    async vectors(batch) {
      batches.push(batch.map(({ tokens }) => tokens[0]!))
      return batch.map(({ tokens }) => Float32Array.of(answer(tokens[0]!)))
    },
    close: async () => {},
  }
  return { batches, line: new VectorLine(model) }
}

const text = (name: number, length = 2): TextTokens => ({ tokens: [name, ...new Array<number>(length - 1).fill(0)] })
const never = new AbortController().signal

describe('whose texts are next', () => {
  test('one of each caller in turn, as many as a batch holds', async () => {
    const { batches, line } = recording()
    const [long, short] = await Promise.all([
      line.run(
        [1, 2, 3, 4, 5, 6].map((name) => text(name)),
        never,
      ),
      line.run([text(11), text(12)], never),
    ])
    expect(batches[0]).toEqual([1, 11, 2])
    // The short list is through with the second batch, however long the other is.
    expect(batches.slice(0, 2).flat()).toContain(12)
    expect(long.map(([value]) => value)).toEqual([1, 2, 3, 4, 5, 6])
    expect(short.map(([value]) => value)).toEqual([11, 12])
  })

  test('a caller of many lists has no more turns than one of a single list', async () => {
    const { batches, line } = recording()
    const lists = [10, 20, 30, 40, 50].map((name) =>
      line.run([text(name), text(name + 1), text(name + 2)], never, 'many'),
    )
    const short = line.run([text(1), text(2), text(3), text(4)], never, 'one')
    await short
    const before = batches.flat()
    // One of them is one batch, of three texts.
    expect(before.filter((name) => name >= 10).length).toBeLessThanOrEqual(4 + 3)
    expect(await Promise.all(lists)).toHaveLength(5)
    // Its own lists take turns.
    expect(before.filter((name) => name >= 10).slice(0, 3)).toEqual([10, 20, 30])
  })

  test('a text that finds no room comes in a batch that it begins', async () => {
    const { batches, line } = recording()
    const whole = line.run([text(1, 8)], never)
    const many = Promise.all([2, 3, 4].map((name) => line.run([text(name, 3), text(name + 10, 3)], never)))
    await Promise.all([whole, many])
    expect(batches.flat().sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 12, 13, 14])
    expect(batches[0]).toEqual([1])
  })

  test('who leaves is left out at once, and the others go on', async () => {
    const { batches, line } = recording()
    const leaver = new AbortController()
    const left = line.run(
      [1, 2, 3, 4, 5, 6, 7, 8].map((name) => text(name)),
      leaver.signal,
    )
    const stays = line.run([text(11)], never)
    leaver.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    await stays
    expect(batches.flat()).toEqual([11])
    await expect(line.run([text(1)], leaver.signal)).rejects.toThrow('gone')
  })
})

describe('what goes wrong', () => {
  test('a vector that is no number fails its own caller alone', async () => {
    const { line } = recording((name) => (name === 2 ? Number.NaN : name))
    const bad = expect(line.run([text(2)], never)).rejects.toMatchObject({ code: 'model_output_invalid' })
    const [good] = await line.run([text(3)], never)
    expect(good).toEqual(Float32Array.of(3))
    await bad
    expect(line.failure).toBeUndefined()
  })

  test('a model that breaks fails all, and whoever comes after', async () => {
    const { line } = recording(() => {
      throw new Error('broken')
    })
    const both = [line.run([text(1)], never), line.run([text(2)], never)]
    for (const one of both) await expect(one).rejects.toMatchObject({ status: 503, code: 'engine_failed' })
    await expect(line.run([text(3)], never)).rejects.toMatchObject({ status: 503 })
    await line.stopped()
  })
})
