/** A made-up clef, as a file. */
import { clef } from '../../../test/oracles/encoders/clef.js'
import type { MadeUp } from '../../engines/webgpu/made.test-helper.js'

const CONTROLS = ['<|im_start|>', '<|im_end|>']
/** All questions in one text: pieces as llama.cpp asks for them, and options as JSON. */
const TEMPLATE =
  '<|im_start|>{{ sep }}{{ state if state is string else state | tojson }}{% for q in questions %}' +
  '{{ sep }}{{ loop.index }} {{ q.id }} {{ q.type }} {{ sep }}{{ mark_question }}{{ q.instructions }}' +
  '{% for o in q.options %}{{ sep }}{{ loop.index }}:{{ sep }}{{ mark_option }}' +
  "{{ ({'option_id': o.key} if o.description is none else {'description': o.description, 'option_id': o.key}) " +
  "| tojson(separators=[',', ':']) }}{{ sep }};{% endfor %}{{ sep }}.{% endfor %}{{ sep }}<|im_end|>"
export const STATE = 'I paid twice.'
/** What options look like: texts are short. */
const LEARNED = ['{"option_id":"true"}', '{"option_id":"false"}', '{"description":"calm","option_id":"0"}']

export const made = (own: Partial<MadeUp> = {}): MadeUp => ({
  ...{ of: clef, type: 'clef', template: TEMPLATE, texts: [TEMPLATE, STATE, ...LEARNED], controls: CONTROLS },
  metadata: () => {},
  ...own,
})
