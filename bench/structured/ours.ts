/** This package's engine along documents. */

import type { TokenConstraint } from '../../src/contract/engine.js'
import { compile, type Grammar, GrammarError, lark, type Vocabulary } from '../../src/grammar/structured.js'
import type { Entry } from './corpus.js'
import { failed, type Measured, now } from './measure.js'

export function measureOurs(entry: Entry, vocabulary: Vocabulary): Measured {
  const started = now()
  let grammar: Grammar
  try {
    grammar = entry.lark === undefined ? compile(entry.schema) : lark(entry.lark)
  } catch {
    return failed(entry.id, 'refused', now() - started)
  }
  const compileUs = now() - started
  return {
    id: entry.id,
    outcome: 'compiled',
    compileUs,
    ...follow(grammar.start(vocabulary), vocabulary, entry.tokens ?? []),
  }
}

/** Tokens beyond the shortest document and those that come. */
const BUDGET = 1000

function follow(constraint: TokenConstraint, vocabulary: Vocabulary, tokens: readonly number[]) {
  const mask = new Uint32Array(vocabulary.words)
  const maskUs: number[] = []
  const maskAtUs: number[] = []
  const choiceUs: number[] = []
  const acceptUs: number[] = []
  let forced = 0
  let known = 0
  let followed = true
  // As the service does: every mask is one of a budget, which is what is left of `max_tokens`.
  let budget = constraint.shortest + tokens.length + BUDGET
  const take = (token: number): boolean => {
    const started = now()
    constraint.closing(budget--)
    constraint.mask(mask)
    const masked = now()
    maskUs.push(masked - started)
    maskAtUs.push(started)
    if (known <= 0) known = constraint.forced().length
    if (known <= 0) choiceUs.push(masked - started)
    known -= vocabulary.bytes(token).length
    if (known >= 0) forced++
    const before = now()
    const accepted = constraint.accept(token)
    acceptUs.push(now() - before)
    return accepted && ((mask[token >> 5]! >>> (token & 31)) & 1) === 1
  }
  try {
    followed = tokens.every(take)
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error
    followed = false
  }
  return { maskUs, maskAtUs, choiceUs, acceptUs, tokens: maskUs.length, forced, followed }
}
