import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openRepository } from '../../src/models/files/open.js'
import { CASES } from '../../test/oracles/families/index.js'
import type { Case } from '../../test/oracles/family.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import { weightsOf } from '../../test/oracles/weights.js'
import { numbersIn } from './numbers.js'

/** A GGUF has rows of the one in another order, and experts of the other in one piece. */
const cases = ['llama', 'gpt_oss'].map((wanted) => CASES.find(({ name }) => name === wanted)!)

it.each(cases)('$name: a file says its own numbers under the names of the definition', async (of: Case) => {
  const original = weightsOf(of)
  const doubled = (name: string) => original(name).map((value) => 2 * value)
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-numbers-'))
  try {
    const path = join(folder, 'doubled.gguf')
    await writeGguf(path, of, doubled)
    const place = { kind: 'folder', path } as const
    const { weights } = await openRepository(place, { report: () => {}, signal: new AbortController().signal })
    const found = await numbersIn(weights, of)
    for (const { name, shape } of of.tensors) {
      if (shape.length > 1) expect(found(name), name).toEqual(doubled(name))
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
