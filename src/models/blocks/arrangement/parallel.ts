import type { Arrangement } from './arrangement.js'

/** The feed-forward reads what the mixer reads, and what both give is added: Cohere. */
export const parallel: Arrangement = {
  norms: ['attentionNorm'],
  readsNormed: true,
  run(layer) {
    layer.readNormed('attentionNorm')
    layer.mix()
    layer.addMixed()
    layer.feed()
  },
}
