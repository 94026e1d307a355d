import type { Arrangement } from './arrangement.js'

/** Norms stand before the mixer and the feed-forward: what nearly all models have. */
export const before: Arrangement = {
  norms: ['attentionNorm', 'mlpNorm'],
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed()
    layer.feed('mlpNorm')
  },
}

/** After them: OLMo 2. */
export const after: Arrangement = {
  norms: ['attentionAfter', 'mlpAfter'],
  addsNormed: true,
  run(layer) {
    layer.mix()
    layer.addMixed('attentionAfter')
    layer.feed(undefined, 'mlpAfter')
  },
}

/** On both sides: Gemma. */
export const both: Arrangement = {
  norms: [...before.norms, ...after.norms],
  addsNormed: true,
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed('attentionAfter')
    layer.feed('mlpNorm', 'mlpAfter')
  },
}
