import type {
  ConstrainCall,
  Constrained,
  ConstrainedAnswer,
  Engine,
  GrammarSource,
  OutputGrammar,
} from '../../contract/index.js'
import { Constraints, fromSourceInSlices, Grammar, GrammarCache } from '../../grammar/index.js'
import { during, inStage, inTurns, LruMap } from '../../platform/index.js'
import type { WireConstraint } from './protocol.js'

/** Of grammars that are kept with what was learned about them: clients send the same schema again and again. */
const KEPT_BYTES = 24 * 2 ** 20
/** Grammars of quotes that wait for the call that they were compiled for. */
const HANDED = 16
/** Calls whose answers may yet be looked at. */
const ANSWERED = 64
/** Services, each with its own layout and formats, that ask one engine. */
const SERVICES = 8

const bytesOf = (grammar: OutputGrammar | undefined): number => (grammar instanceof Grammar ? grammar.bytes : 0)

/** What requests demand of their answers, compiled in this thread for a service in another. */
export class Demands {
  readonly #engine: Engine
  readonly #grammars = new GrammarCache({ maxBytes: KEPT_BYTES })
  /** Of quotes, and what is too large to be kept: by their request, no longer than it takes them. */
  readonly #handed = new LruMap<string, Constrained>(HANDED)
  readonly #answered = new LruMap<string, WeakRef<Grammar>>(ANSWERED)
  readonly #constraints = new WeakMap<Grammar, Constrained>()
  readonly #services = new LruMap<string, Constraints>(SERVICES)

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async compiled(call: ConstrainCall): Promise<WireConstraint> {
    const constraint = await this.#constraint(call)
    const { grammar, toolGrammar, notEnforced } = constraint
    const [text, toolText] = [grammar, toolGrammar].map((each) => each?.source && JSON.stringify(each.source))
    // With which the call comes in a moment.
    if (call.quote || bytesOf(grammar) + bytesOf(toolGrammar) > KEPT_BYTES) this.#handed.set(call.id, constraint)
    else {
      if (grammar instanceof Grammar) this.#grammars.set(text!, grammar)
      if (toolGrammar instanceof Grammar) this.#grammars.set(toolText!, toolGrammar)
    }
    return {
      ...(text !== undefined && { grammar: text }),
      ...(toolText !== undefined && { toolGrammar: toolText }),
      notEnforced,
      judged: call.output.type !== 'text' || call.tools.some(({ strict, input }) => strict || input !== undefined),
    }
  }

  async faultOf({
    answer,
    ...call
  }: ConstrainCall & { readonly answer: ConstrainedAnswer }): Promise<string | undefined> {
    const kept = this.#answered.get(call.id)?.deref()
    const constraint = (kept && this.#constraints.get(kept)) ?? (await this.#constraint(call))
    return during('check', call.id, () => constraint.faultOf(answer))
  }

  /** `text`: its source's; `name` is that of the call's field that has it, `of` the call's request, `caller` whose it is. */
  grammar(
    text: string,
    name: string,
    { of, caller, signal }: { readonly of: string; readonly caller?: string; readonly signal: AbortSignal },
  ): OutputGrammar | Promise<OutputGrammar> {
    const handed = this.#handed.get(of)
    const grammar = name === 'grammar' ? handed?.grammar : handed?.toolGrammar
    if (grammar) return grammar
    const known = this.#grammars.get(text)
    if (known) return known
    const source = JSON.parse(text) as GrammarSource
    return inTurns(inStage('compile', of, fromSourceInSlices(source, { cache: this.#grammars })), signal, caller)
  }

  /** The call has its grammars: those that are its own live from here on as long as it does. */
  begun(of: string): void {
    const constraint = this.#handed.get(of)
    const grammar = constraint?.grammar ?? constraint?.toolGrammar
    this.#handed.delete(of)
    if (!(constraint && grammar instanceof Grammar)) return
    this.#constraints.set(grammar, constraint)
    this.#answered.set(of, new WeakRef(grammar))
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
