/** Every document that a model could write under a grammar, in every way, with how likely each is: nothing is left out. */
import type { ChatCall } from '../../contract/engine.js'
import type { Grammar } from '../../grammar/structured.js'
import { Guided } from '../answer/guided.js'
import { GREEDY } from '../answer/sampling.js'
import { setUp } from '../testing/call.test-helper.js'

const BUDGET = 1000

export async function allValues(
  call: ChatCall & { readonly grammar: Grammar },
  keyOf = (text: string, _first: string) => JSON.stringify(JSON.parse(text).v),
): Promise<Map<string, number>> {
  const { model, text } = setUp()
  const { tokenizer, vocabulary } = text
  const found = new Map<string, number>()
  const logitsAfter = async (tokens: readonly number[]): Promise<readonly number[]> => {
    const all = Array.from({ length: tokenizer.size }, (_, token) => token)
    const sequence = model.open()
    for (let at = 0; at < tokens.length - 1; at += model.maxChunk) {
      await model.step([{ sequence, tokens: tokens.slice(at, Math.min(at + model.maxChunk, tokens.length - 1)) }])
    }
    const [sampled] = await model.step([{ sequence, tokens: tokens.slice(-1), sample: { ...GREEDY, among: all } }])
    sequence.close()
    return sampled!.among!
  }
  const go = async (
    guided: Guided,
    tokens: readonly number[],
    written: readonly number[],
    likely: number,
  ): Promise<void> => {
    const [own, output] = [[...tokens], [...written]]
    for (let run = guided.plan(BUDGET, true); run; run = guided.plan(BUDGET, true)) {
      guided.commit(run)
      own.splice(own.length - run.replace, run.replace, ...run.tokens)
      output.splice(output.length - run.replace, run.replace, ...run.tokens)
    }
    if (guided.done) {
      const textOf = (part: readonly number[]) =>
        new TextDecoder().decode(Uint8Array.from(part.flatMap((token) => [...tokenizer.bytes(token)])))
      const key = keyOf(textOf(output), textOf(output.slice(0, 1)))
      found.set(key, (found.get(key) ?? 0) + likely)
      return
    }
    const mask = new Uint32Array(Math.ceil(model.vocabSize / 32))
    guided.mask(mask, BUDGET)
    const logits = await logitsAfter(own)
    const allowed = logits.flatMap((logit, token) =>
      (mask[token >>> 5]! >>> (token & 31)) & 1 ? [[token, logit] as const] : [],
    )
    const total = allowed.reduce((sum, [, logit]) => sum + Math.exp(logit), 0)
    for (const [token, logit] of allowed) {
      const next = new Guided(guided.fork(), tokenizer, output)
      if (!next.accept(token)) throw new Error('a mask allows what the grammar forbids')
      await go(next, [...own, token], [...output, token], (likely * Math.exp(logit)) / total)
    }
  }
  await go(new Guided(call.grammar.start(vocabulary), tokenizer), text.prompt(call), [], 1)
  return found
}
