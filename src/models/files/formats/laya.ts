import { broken } from '../failure.js'
import { parseJson } from '../json.js'
import type { RepositoryFormat } from './format.js'
import { readTransformers } from './safetensors.js'

/** What Laya's repositories are known by. */
export const AGENT = 'rl_agent_config.json'
const ENCODER = 'encoder/config.json'
const TOKENIZER = 'tokenizer/'

/** Laya's repositories: an encoder of transformers and a head over it in one file, what they say of themselves in folders. */
export const laya: RepositoryFormat = {
  name: 'a decision model',
  mark: AGENT,
  async detect(files, signal) {
    const agent = await files.text(AGENT, signal)
    if (agent === undefined) return undefined
    const encoder = await files.text(ENCODER, signal)
    if (encoder === undefined) throw broken(files.place, `it has ${AGENT}, and no ${ENCODER}.`)
    return readTransformers(files, parseJson(files.place, ENCODER, encoder), signal, {
      decision: parseJson(files.place, AGENT, agent),
      text: { place: files.place, text: (name, reading) => files.text(`${TOKENIZER}${name}`, reading) },
      // PyTorch's attention has them as parameters of its own, not of a layer.
      rename: (name) => name.replace(/\.in_proj_(weight|bias)$/, '.in_proj.$1'),
    })
  },
}
