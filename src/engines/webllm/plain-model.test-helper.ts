import type { ChatCall } from '../../contract/engine.js'
import type { Sampled, Sequence, StepInput, TokenModel } from '../../contract/token-model.js'
import { sampleRow } from '../../device/sampling.js'
import { ChatText } from '../../generate/chat-text.js'
import { DecodeLoop } from '../../generate/decode-loop.js'
import { call, collect } from '../../generate/testing/call.test-helper.js'
import { sampleRowOf } from '../../models/sampling.js'
import { chatConfig, files, logitsAfter, TOKENS, WINDOW } from './stand-in.test-helper.js'

/** The same model in the plainest way: every sequence keeps its tokens, every step reads them all. */
class PlainModel implements TokenModel {
  readonly vocabSize = chatConfig.vocab_size
  readonly contextLength = WINDOW
  readonly maxBatch = 8
  readonly maxChunk = 512
  readonly fingerprint = 'fp_plain'
  readonly freeTokens = 100_000

  open(): Sequence & { tokens: number[] } {
    return this.#with([])
  }

  #with(tokens: number[]): Sequence & { tokens: number[] } {
    return {
      tokens,
      get length() {
        return tokens.length
      },
      clone: () => this.#with([...tokens]),
      truncate: (length) => void tokens.splice(length),
      close: () => {},
    }
  }

  async step(batch: readonly StepInput[]): Promise<(Sampled | undefined)[]> {
    return batch.map(({ sequence, tokens, sample }) => {
      const all = (sequence as ReturnType<PlainModel['open']>).tokens
      all.push(...tokens)
      return (
        sample && sampleRow(logitsAfter(all), TOKENS, sampleRowOf(sample, 0), new Float32Array(chatConfig.vocab_size))
      )
    })
  }

  async close(): Promise<void> {}
}

/** What the plainest model says. */
export const plain = (part: Partial<ChatCall> = {}) =>
  collect(new DecodeLoop(new PlainModel(), new ChatText(files)).generate(call({ maxTokens: 30, ...part })), part.n)
