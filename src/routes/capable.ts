import type { Capabilities, ModelInfo } from '../engine.js'
import type { V1Error } from '../errors.js'
import { notTaken } from '../wire/chat/messages.js'
import { unsupported } from '../wire/fields.js'
import type { CallSpec } from '../wire/reply.js'

/** Refuses what the model has said it cannot do, by the name of the field that asks for it. */
export function checkCapable({ id, capabilities = {} }: ModelInfo, spec: CallSpec): void {
  const cannot = (capability: keyof Capabilities) => capabilities[capability] === false
  const { fields } = spec
  if (cannot('chat')) throw unsupported('model', `The model '${id}' generates no text.`)
  if (cannot('logprobs') && spec.topLogprobs !== undefined)
    throw lacks(id, fields.logprobs ?? 'logprobs', 'tells no log probabilities')
  if (cannot('seed') && spec.sampling.seed !== undefined) throw lacks(id, 'seed', 'cannot repeat an answer')
  if (cannot('tools') && spec.tools.length > 0 && spec.toolChoice !== 'none') throw lacks(id, 'tools', 'calls no tools')
  if (cannot('grammar') && spec.output.type !== 'text') throw lacks(id, fields.format, 'cannot keep to a format')
  if (cannot('thinking') && spec.templateOptions?.enable_thinking === true) {
    throw lacks(id, fields.thinking ?? 'reasoning_effort', 'does not think')
  }
  checkMedia(capabilities, spec)
}

const lacks = (id: string, param: string, why: string): V1Error =>
  unsupported(param, `The model '${id}' ${why}: leave it out.`)

function checkMedia({ images = false, audio = false }: Capabilities, { messages, fields }: CallSpec): void {
  const place = fields.part ?? ((message, part) => `messages[${message}].content[${part}].type`)
  messages.forEach(({ content }, i) => {
    if (typeof content === 'string') return
    content.forEach((part, j) => {
      if (part.type === 'image' && !images) throw notTaken(place(i, j), 'image_url', 'Images')
      if (part.type === 'audio' && !audio) throw notTaken(place(i, j), 'input_audio', 'Audio')
    })
  })
}
