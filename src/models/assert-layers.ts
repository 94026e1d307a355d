/** A number of layers is believed as far as there are tensors for them: it is walked in many places. */

import { record } from './architectures/fields.js'
import type { WeightOutline } from './files/source.js'
import { refuse } from './refuse.js'

const KEYS = ['num_hidden_layers', 'block_count'] as const

export function assertLayers({ chatConfig, names }: WeightOutline, model: string): void {
  for (const config of [chatConfig, record(chatConfig.text_config), record(chatConfig.model_config)]) {
    for (const key of KEYS) {
      const layers = config?.[key]
      if (typeof layers === 'number' && layers > names.length)
        throw refuse(model, `${key} = ${layers} with ${names.length} tensors`)
    }
  }
}
