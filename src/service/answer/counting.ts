import { modelCannot } from '../../contract/index.js'
import type { CallSpec } from '../wire/reply.js'
import { checkMedia } from './capable.js'
import { findModel } from './loader.js'
import type { SingleRequest } from './once.js'
import type { Exchange, Service } from './service.js'

/** What a prompt is made of. */
export type Prompting = Pick<
  CallSpec,
  'messages' | 'tools' | 'toolChoice' | 'output' | 'templateOptions' | 'thinkingBudget'
> &
  Partial<Pick<CallSpec, 'fields'>>

/** A request that is only counted: what it would have a model read, with all that its form and its tools add to that. */
export function counting(
  { engine, describeSchema }: Service,
  { caller }: Exchange,
  { model, ignored }: { readonly model: string; readonly ignored: readonly string[] },
  ask: () => Prompting | Promise<Prompting>,
  body: (tokens: number) => unknown,
): SingleRequest {
  return {
    model,
    ignored,
    free: true,
    check() {
      if (!engine.tokenize) throw modelCannot(model, 'cannot count tokens here')
    },
    async act(signal) {
      const { messages, tools, toolChoice, output, templateOptions, thinkingBudget, fields = {} } = await ask()
      checkMedia(findModel(engine, model).capabilities ?? {}, { messages, fields })
      const { tokens } = await engine.tokenize!({
        ...{ model, signal, caller: caller.id, messages, output, toolChoice, describeSchema },
        tools: toolChoice === 'none' ? [] : tools,
        ...(templateOptions && { templateOptions }),
        ...(thinkingBudget !== undefined && { thinkingBudget }),
      })
      return { body: body(tokens.length) }
    },
  }
}
