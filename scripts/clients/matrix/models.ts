/** Chat templates as their makers publish them, over made-up weights: a folder for each, and what it is called. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  type TinyRepository,
  tinyRepository,
  writeRepository,
} from '../../../src/engines/webgpu/tiny-repository.test-helper.js'
import { smallTokenizer } from '../../../src/generate/testing/small-tokenizer.test-helper.js'

type ModelText = ReturnType<typeof smallTokenizer>

const CONTEXT = 16_384
const MARK =
  /<[|｜][^\s<>]{1,40}?[|｜]>|<\/?(?:think|tool_call|tool_response|tools|s|unk|start_of_turn|end_of_turn)>|\[\/?[A-Z_]{3,20}\]/g
const PLAIN = /^<\/?(think|tool_call|tool_response|tools)>$/
const ENDS = [
  '<|im_end|>',
  '<|eot_id|>',
  '<end_of_turn>',
  '<|END_OF_TURN_TOKEN|>',
  '<|end|>',
  '<｜end▁of▁sentence｜>',
  '<|end_of_text|>',
]

/** Writes a model for each of the templates (`*.jinja`) under `into`; their ids. */
export async function modelsOf(templates: string, names: readonly RegExp[], into: string): Promise<string[]> {
  const files = (await readdir(templates)).filter((name) => name.endsWith('.jinja')).sort()
  // A name may stand in another's, as Llama 3.1's in Hermes 3's: a template is taken by the first that asks for it.
  const wanted = new Set<string>()
  for (const name of names) {
    const file = files.find((each) => name.test(each) && !wanted.has(each))
    if (file !== undefined) wanted.add(file)
  }
  const ids: string[] = []
  for (const [seed, file] of [...wanted].entries()) {
    const template = await readFile(join(templates, file), 'utf8')
    const id = `made-up/${basename(file, '.jinja')}`
    const text = textOf(template)
    await writeRepository(brief(tinyRepository(seed + 1, CONTEXT, text), text), join(into, id))
    ids.push(id)
  }
  return ids
}

/** How much more its end is wanted, or not wanted, than any other token: answers in words are a few long. */
const ENDING = 8

/** The same weights, but that answers end: some clients take one that was cut off for an error. */
function brief(repository: TinyRepository, { tokenizer, tokenizerConfig }: ModelText): TinyRepository {
  const end = tokenizer.added_tokens.find(({ content }) => content === tokenizerConfig.eos_token)!.id
  const size = Object.keys(tokenizer.model.vocab).length + tokenizer.added_tokens.length
  const shard = repository.files.get('params_shard_0.bin')!
  // The head comes last: a row for each token.
  const head = new Float32Array(shard.buffer, shard.byteOffset, shard.byteLength / 4).subarray(-64 * size)
  for (let i = 64 * end; i < 64 * (end + 1); i++) head[i]! *= ENDING
  return repository
}

/** A small tokenizer that has the template's control tokens. */
function textOf(chat_template: string): ModelText {
  const { tokenizer } = smallTokenizer()
  const [first] = tokenizer.added_tokens
  const known = new Set(tokenizer.added_tokens.map(({ content }) => content))
  const marks = [...new Set(['<s>', '</s>', ...(chat_template.match(MARK) ?? [])])].filter((mark) => !known.has(mark))
  const size = Object.keys(tokenizer.model.vocab).length + tokenizer.added_tokens.length
  const added = marks.map((content, i) => ({ ...first!, id: size + i, content, special: !PLAIN.test(content) }))
  const eos_token = ENDS.find((end) => chat_template.includes(end)) ?? '</s>'
  return {
    tokenizer: { ...tokenizer, added_tokens: [...tokenizer.added_tokens, ...added] },
    tokenizerConfig: { bos_token: '<s>', eos_token, chat_template },
  }
}
