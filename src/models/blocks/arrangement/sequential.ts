/** The mixer first, then the feed-forward, which reads what the mixer has added. They differ in where norms stand. */
import type { Arrangement } from './arrangement.js'

/** Before the mixer and the feed-forward: what nearly all models have. */
export const normedBefore: Arrangement = {
  norms: ['attentionNorm', 'mlpNorm'],
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed()
    layer.feed('mlpNorm')
  },
}

/** After them: OLMo 2. */
export const normedAfter: Arrangement = {
  norms: ['attentionAfter', 'mlpAfter'],
  addsNormed: true,
  run(layer) {
    layer.mix()
    layer.addMixed('attentionAfter')
    layer.feed(undefined, 'mlpAfter')
  },
}

/** On both sides: Gemma. */
export const normedTwice: Arrangement = {
  norms: [...normedBefore.norms, ...normedAfter.norms],
  addsNormed: true,
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed('attentionAfter')
    layer.feed('mlpNorm', 'mlpAfter')
  },
}
