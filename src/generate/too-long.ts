import { V1Error } from '../contract/index.js'

/** In the words of OpenAI, which clients look for; `tokens` of a prompt that was not counted to its end are the `least`. */
export function tooLong(capacity: number, tokens: number, least = false): V1Error {
  const resulted = `${least ? 'more than ' : ''}${tokens} tokens`
  return new V1Error(
    400,
    `This model's maximum context length is ${capacity} tokens. However, your messages resulted in ${resulted}. Please reduce the length of the messages.`,
    { param: 'messages', code: 'context_length_exceeded' },
  )
}
