/** `examples/own-loop/transformers.ts` in transformers.js. */

import { pathToFileURL } from 'node:url'
import { installed } from '../../bench/peers/installed.js'
import { type Grammar, Vocabulary } from '../../src/grammar/structured.js'
import { exampleOf } from './examples.js'
import { type TokenizerFiles, writeTinyModel } from './tiny-onnx.js'

interface Ids {
  readonly dims: readonly number[]
  tolist(): bigint[][]
}

interface Library {
  readonly env: { allowRemoteModels: boolean; localModelPath: string }
  readonly LogitsProcessorList: new () => { push(processor: unknown): void }
  readonly AutoTokenizer: { from_pretrained(name: string): Promise<Tokenizer> }
  readonly AutoModelForCausalLM: { from_pretrained(name: string, options: object): Promise<Model> }
}

interface Tokenizer {
  padding_side: string
  (texts: readonly string[], options: object): { input_ids: Ids }
  decode(ids: readonly bigint[], options: object): string
}

interface Model {
  generate(options: object): Promise<Ids>
}

const PROMPTS = ['Once upon a time', 'Here are two words more']
const WAYS = { greedily: { do_sample: false }, 'by chance': { do_sample: true, temperature: 1.5, top_k: 0 } }

export async function checkTransformers(
  peers: string,
  folder: string,
  files: TokenizerFiles,
  grammars: readonly Grammar[],
  random: () => number,
  judge: (what: string, schema: number, text: string) => void,
): Promise<void> {
  const library = (await import(pathToFileURL(installed(peers, '@huggingface/transformers')).href)) as Library
  const grammarProcessor = await exampleOf('transformers.ts', 'grammarProcessor')
  await writeTinyModel(`${folder}/tiny`, files, random)
  library.env.allowRemoteModels = false
  library.env.localModelPath = folder
  const tokenizer = await library.AutoTokenizer.from_pretrained('tiny')
  const model = await library.AutoModelForCausalLM.from_pretrained('tiny', { dtype: 'fp32' })
  const vocabulary = Vocabulary.fromTokenizer(files.tokenizer, { eos: files.eos })
  for (const prompts of [PROMPTS.slice(0, 1), PROMPTS]) {
    const inputs = tokenizer(prompts, { padding: true })
    for (const [way, sampling] of Object.entries(WAYS)) {
      for (const [i, grammar] of grammars.entries()) {
        const processors = new library.LogitsProcessorList()
        processors.push(grammarProcessor(grammar, vocabulary, { maxTokens: 80 }))
        const options = { ...inputs, ...sampling, max_new_tokens: 80, logits_processor: processors }
        const written = (await model.generate(options)).tolist()
        for (const ids of written) {
          const answer = ids.slice(inputs.input_ids.dims[1])
          judge(`transformers.js, ${prompts.length} ${way}`, i, tokenizer.decode(answer, { skip_special_tokens: true }))
        }
      }
    }
  }
}
