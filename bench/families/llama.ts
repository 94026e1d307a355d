/** llama.cpp over a file, asked for what our core is asked for. */
import { type Side, type SideOptions, text } from './side.js'

export interface Llama {
  loadModel(options: object): Promise<{
    createContext(options: object): Promise<{
      getSequence(): {
        readonly nextTokenIndex: number
        evaluate(tokens: number[], options: object): AsyncGenerator<number>
        clearHistory(): Promise<void>
      }
      dispose(): Promise<void>
    }>
    dispose(): Promise<void>
  }>
}

export async function theirSide(llama: Llama, path: string, { threads, context, clock }: SideOptions): Promise<Side> {
  const model = await llama.loadModel({ modelPath: path })
  const native = await model.createContext({ contextSize: context, threads: { ideal: threads, min: threads } })
  const sequence = native.getSequence()
  let token = 0
  /** The first of those that follow; it stands in the sequence only when it is evaluated. */
  const evaluate = async (tokens: number[], count: number) => {
    let start = 0
    let seen = 0
    for await (const drawn of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
      token = drawn
      if (seen === 0) start = clock()
      if (seen++ === count) break
    }
    return start
  }
  return {
    async read(length) {
      await sequence.clearHistory()
      const start = clock()
      return (1000 * length) / ((await evaluate(text(0, length), 0)) - start)
    },
    async fill(length) {
      if (sequence.nextTokenIndex > length) await sequence.clearHistory()
      if (sequence.nextTokenIndex < length) await evaluate(text(sequence.nextTokenIndex, length), 0)
    },
    async write(tokens) {
      const start = await evaluate([token], tokens)
      return (1000 * tokens) / (clock() - start)
    },
    async close() {
      await native.dispose()
      await model.dispose()
    },
  }
}
