import { describe, test } from 'vitest'
import { engineChecks } from '../../../test/contract/engine.js'
import { valid } from '../../../test/contract/speak.js'
import { createV1 } from '../../index.js'
import { WebLlmEngine } from './engine.js'
import { chatConfig, files, record, standInLibrary, WINDOW } from './stand-in.test-helper.js'

/** The same checks run over the real WebLLM: `npm run check:webllm`. */
describe('the service over WebLLM, as its stand-in behaves', () => {
  const engine = new WebLlmEngine(
    { log: () => {} },
    {
      loadLibrary: async () => standInLibrary([record('one')]).library,
      probeGpu: async () => ({ features: new Set<string>(), maxStorageBufferBindingSize: 2 ** 30 }),
      readText: async () => ({ ...files, chatConfig }),
    },
  )
  // It is listed although nobody has waited for WebLLM's own list.
  const { fetch } = createV1({ engine, keys: 'none' })
  const served = { fetch, model: 'test/one', contextLength: WINDOW, valid }

  test.each(engineChecks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run(served))
})
