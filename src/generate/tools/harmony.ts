import { CHANNELS, channelsOf } from '../channels.js'
import { callGrammar } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { readerOf, readUpTo } from './letters.js'

const CONSTRAIN = '<|constrain|>'
const MESSAGE = CHANNELS.close
/** To whom a call goes. */
const TO = 'to=functions.'

/** gpt-oss: a message to a function, on a channel of its own; one an answer. */
export const HARMONY: ToolFormat = {
  name: 'harmony',
  isOf: (template) => channelsOf(template) !== undefined,
  token: CONSTRAIN,
  open: `${CHANNELS.open}${CHANNELS.called} ${TO}`,
  past: TO,
  close: '<|call|>',
  marks: [CONSTRAIN, MESSAGE],
  native: true,
  thinking: true,
  grammar: callGrammar((tool, parameters) => ({
    sequence: [`${tool} `, { token: CONSTRAIN }, 'json', { token: MESSAGE }, parameters.whole],
  })),
  spell: (name, json) => `${name} ${CONSTRAIN}json${MESSAGE}${json || '{}'}`,
  form: `name ${CONSTRAIN}json${MESSAGE}{...}`,
  reader: () =>
    readerOf(function* (found) {
      let name = ''
      // In what was said earlier the channel stands behind the name.
      for (let letter: string = yield; letter !== ' ' && letter !== '<'; letter = yield) name += letter
      found.name(name)
      yield* readUpTo(MESSAGE)
      for (;;) found.add(yield)
    }),
}
