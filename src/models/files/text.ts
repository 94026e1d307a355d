import type { TextFiles } from '../../generate/index.js'
import { allOver, type JsonObject } from '../../platform/index.js'
import { broken } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { parseJson } from './json.js'

/** What a repository says about text, in the files that transformers writes. `listed`: which of them there are, if known. */
export async function readText(
  files: Pick<RepositoryFiles, 'place' | 'text'>,
  chatConfig: JsonObject,
  listed: ReadonlySet<string> | undefined,
  signal: AbortSignal,
): Promise<TextFiles> {
  const optional = async (name: string) => (listed && !listed.has(name) ? undefined : files.text(name, signal))
  const json = async (name: string) => {
    const text = await optional(name)
    return text === undefined ? undefined : parseJson(files.place, name, text)
  }
  // Side by side: who waits for a model waits for the longest of them alone. Where one fails, all are closed first.
  const [tokenizer, tokenizerConfig, chatTemplate, generationConfig] = await allOver([
    files.text('tokenizer.json', signal),
    json('tokenizer_config.json'),
    optional('chat_template.jinja'),
    json('generation_config.json'),
  ])
  if (tokenizer === undefined) throw broken(files.place, 'it has no tokenizer.json.')
  return {
    tokenizer: parseJson(files.place, 'tokenizer.json', tokenizer),
    tokenizerConfig,
    chatTemplate,
    generationConfig,
    chatConfig,
  }
}
