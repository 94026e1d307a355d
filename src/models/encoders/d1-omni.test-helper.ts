/** A made-up d1-omni, as a file. */
import { d1Omni } from '../../../test/oracles/encoders/d1-omni.js'
import type { MadeUp } from '../../engines/webgpu/made.test-helper.js'

const CONTROLS = ['<|startoftext|>', ...[7, 8, 9, 10, 11].map((i) => `<|reserved_${i}|>`), '<|mask|>']
/** Pieces as llama.cpp asks for them: marks at the beginning of some, and something between all. */
const TEMPLATE =
  '{{ sep }}<|startoftext|><|reserved_7|>{{ sep }}{{ mark_state }}{{ state }}' +
  '{{ sep }}{{ mark_question }}<|reserved_8|>{{ instructions }}{% for o in options %}' +
  "{{ sep }}<|reserved_9|><|mask|>{{ sep }}{{ mark_option }} {% if type == 'score' %}level {{ o.key }}: {{ o.description }}" +
  '{% else %}{{ o.key }}{% if o.description %}: {{ o.description }}{% endif %}{% endif %}' +
  '{{ sep }}<|reserved_10|>{% endfor %}{{ sep }}<|reserved_11|>'
export const STATE = 'I paid twice for one lamp.'

export const made = (own: Partial<MadeUp> = {}): MadeUp => ({
  ...{ of: d1Omni, type: 'lfm2-d1-omni', template: TEMPLATE, texts: [TEMPLATE, STATE], controls: CONTROLS },
  metadata: () => {},
  ...own,
})
