/** Documents under a strict schema beside free text of the same prompts, seeds and lengths. */

import { compile, documentCheck, type Grammar } from '../../grammar/index.js'
import { atOnce } from '../../platform/index.js'
import { chatCallOf, type TimedAnswer, timed } from '../clock.js'
import { plainCall } from '../engine-subject.js'
import { GrammarClock } from '../grammar-clock.js'
import { TASKS, type Task } from '../prompts.js'
import type { EngineUnderTest } from '../subject.js'
import { now } from '../time.js'
import { fits, type Scenario } from './scenario.js'

/** Room for any of the documents; grammars close them within it. */
const MOST_TOKENS = 200

export function strictJson(): Scenario {
  const grammars = new Map<Task, Grammar>()
  return {
    part: 'json',
    name: 'strict JSON',
    suits: (subject) => subject.engine !== undefined && fits(subject, 100 + MOST_TOKENS),
    async run({ engine }) {
      const of = engine!
      const sums = { plain: 0, strict: 0, fresh: 0, plainTokens: 0, strictTokens: 0, forced: 0, compile: 0 }
      const clock = new GrammarClock()
      let watched = 0
      let valid = 0
      for (const task of TASKS) {
        // The prompt goes into the cache, so that what is compared is writing alone.
        await timed(of.engine, plainCall(of, task.text, 1))
        const start = now()
        const fresh = compile(task.schema)
        const compiled = (now() - start) / 1000
        sums.compile += compiled
        sums.fresh += compiled + (await document(of, task, fresh)).seconds
        // As the service does: a schema is compiled once and kept, with what was learned of it.
        const grammar = grammars.get(task) ?? fresh
        grammars.set(task, grammar)
        const strict = await document(of, task, grammar)
        if (atOnce(documentCheck(task.schema, grammar, true).faultInSlices(strict.text)) === undefined) valid++
        const plain = await timed(of.engine, plainCall(of, task.text, strict.tokens))
        sums.plain += plain.seconds
        sums.strict += strict.seconds
        sums.plainTokens += plain.tokens
        sums.strictTokens += strict.tokens
        sums.forced += strict.forced
        // Apart from the answers whose time counts: looking at the clock takes time too.
        watched += (await document(of, task, grammar, clock)).seconds
      }
      const plain = sums.plainTokens / sums.plain
      const strict = sums.strictTokens / sums.strict
      return [
        { metric: 'json-plain', value: plain },
        { metric: 'json-strict', value: strict },
        { metric: 'json-ratio', value: strict / plain },
        { metric: 'json-fresh', value: sums.strictTokens / sums.fresh },
        { metric: 'json-valid', value: (100 * valid) / TASKS.length },
        // An engine that does not go by our grammar asks it nothing.
        ...(clock.masks === 0
          ? []
          : ([
              { metric: 'json-forced', value: (100 * sums.forced) / sums.strictTokens },
              { metric: 'json-mask', value: (clock.mask * 1000) / clock.masks },
              { metric: 'json-grammar', value: clock.all / 10 / watched },
            ] as const)),
        { metric: 'json-compile', value: (sums.compile * 1000) / TASKS.length },
      ]
    },
  }
}

/** One document, as long as its schema wants it. */
async function document(
  { engine, model }: EngineUnderTest,
  { text, schema }: Task,
  grammar: Grammar,
  clock?: GrammarClock,
): Promise<TimedAnswer> {
  const call = chatCallOf({
    model,
    messages: [{ role: 'user', content: text }],
    maxTokens: MOST_TOKENS,
    output: { type: 'json_schema', name: 'document', strict: true, schema },
    grammar: clock === undefined ? grammar : clock.around(grammar),
  })
  return timed(engine, call)
}
