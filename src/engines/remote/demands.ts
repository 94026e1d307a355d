import { Constraints } from '../../constraints/constraints.js'
import type {
  ConstrainCall,
  Constrained,
  ConstrainedAnswer,
  Engine,
  GrammarSource,
  OutputGrammar,
} from '../../engine.js'
import { LruMap } from '../../platform/lru-map.js'
import { at, inStage } from '../../platform/pulse.js'
import { inTurns } from '../../platform/turns.js'
import { fromSourceInSlices, Grammar, GrammarCache } from '../../structured/index.js'
import type { WireConstraint } from './protocol.js'

/** Of grammars that are kept with what was learned about them: clients send the same schema again and again. */
const KEPT_BYTES = 64 * 2 ** 20
/** Services, each with its own layout and formats, that ask one engine. */
const SERVICES = 8

/** What requests demand of their answers, compiled in this thread for a service in another. */
export class Demands {
  readonly #engine: Engine
  readonly #grammars = new GrammarCache({ maxBytes: KEPT_BYTES })
  readonly #services = new LruMap<string, Constraints>(SERVICES)

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async compiled(call: ConstrainCall): Promise<WireConstraint> {
    const { grammar, toolGrammar, notEnforced } = await this.#constraint(call)
    for (const each of [grammar, toolGrammar]) {
      // With which the call comes in a moment.
      if (each instanceof Grammar) this.#grammars.set(JSON.stringify(each.source), each)
    }
    return {
      ...(grammar?.source && { grammar: grammar.source }),
      ...(toolGrammar?.source && { toolGrammar: toolGrammar.source }),
      notEnforced,
      judged: call.output.type !== 'text' || call.tools.some(({ strict, input }) => strict || input !== undefined),
    }
  }

  async faultOf({
    answer,
    ...call
  }: ConstrainCall & { readonly answer: ConstrainedAnswer }): Promise<string | undefined> {
    const constraint = await this.#constraint(call)
    return at('check', call.id, () => constraint.faultOf(answer))
  }

  grammar(source: GrammarSource, of: string, signal: AbortSignal): Promise<OutputGrammar> {
    return inTurns(inStage('compile', of, fromSourceInSlices(source, { cache: this.#grammars })), signal)
  }

  async #constraint(call: ConstrainCall): Promise<Constrained> {
    const theirs = await this.#engine.constrain?.(call)
    if (theirs) return theirs
    const { layout, formats, signal, caller, id } = call
    const key = JSON.stringify([layout, formats])
    let service = this.#services.get(key)
    if (!service) {
      service = new Constraints(layout, formats)
      this.#services.set(key, service)
    }
    return inTurns(inStage('compile', id, service.of(call)), signal, caller)
  }
}
