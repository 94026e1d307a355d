/** `local-v1/llama-cpp` over the same file: llama.cpp under our own decoding, beside itself without. */
import { pathToFileURL } from 'node:url'
import { openEngineSubject } from '../../src/bench/engine-subject.js'
import type { Candidate } from '../../src/bench/subject.js'
import { llamaCpp } from '../../src/engines/llama-cpp/index.js'
import { installed } from './installed.js'
import type { LlamaOptions } from './llama.js'

/** How long prompts become is learned by one of 48 words, which its vocabulary spells in bytes. */
const TO_LEARN = 512

const ID = 'local/same-weights'

export function llamaEngineCandidate({ peers, gguf, threads, sequences, context }: LlamaOptions): Candidate {
  const module = pathToFileURL(installed(peers, 'node-llama-cpp')).href
  const open = async () => {
    const engine = llamaCpp({
      models: [{ id: ID, from: gguf.path, contextLength: context + TO_LEARN }],
      device: 'cpu',
      threads,
      maxBatch: sequences,
      loader: () => import(module),
      log: () => {},
    })
    try {
      return await openEngineSubject(engine, ID, {
        name: 'local-v1/llama-cpp',
        notes: ['the same codes as Q4_0, under our own decoding'],
        // As the file says.
        ends: () => [2],
      })
    } catch (error) {
      await engine.close?.()
      throw error
    }
  }
  return { name: 'local-v1/llama-cpp', open }
}
