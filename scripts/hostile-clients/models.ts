/** Models in folders: small encoders with made-up weights, and what a stranger might publish. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tinyRepository, writeRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { MARKS, minilm } from '../../test/oracles/encoders/bert.js'
import { bertScores } from '../../test/oracles/encoders/cross.js'
import { wordsTokenizer, writeEncoder } from '../../test/oracles/files/repository.js'

type Json = Record<string, unknown>

export async function encoders(folder: string): Promise<string[]> {
  const paths = [join(folder, 'embeds'), join(folder, 'ranks')]
  await writeEncoder(minilm, paths[0]!, wordsTokenizer(minilm, MARKS))
  await writeEncoder(bertScores, paths[1]!, wordsTokenizer(bertScores, MARKS))
  return paths
}

const LOOP = '{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}'
/** A text that is in another almost everywhere. */
const ALMOST = "{% set a = 'b' ~ 'a' * 200000 %}{% set b = 'a' * 2000000 %}"
const DEEP = '{% set ns = namespace(x=range(60000) | list) %}'
const template = (chat_template: string) => ({ 'tokenizer_config.json': (json: Json) => ({ ...json, chat_template }) })
/** Files of a small model, as a stranger has changed them. */
const STRANGERS: Readonly<Record<string, Readonly<Record<string, (json: Json) => unknown>>>> = {
  range: template('{% for i in range(1000000000) %}{{ i }}{% endfor %}'),
  nested: template(LOOP),
  calls: template(`{% if messages[0].tool_calls %}{% endif %}${LOOP}`),
  macro: template(`{% macro m(tool_calls) %}${LOOP}{% endmacro %}{{ m(1) }}`),
  search: template(`${ALMOST}{{ a in b }}{{ b.split(a) }}{{ b | replace(a, '') }}`),
  signs: template("{% for c in 'a' * 4000000 %}{{ c }}{% endfor %}"),
  raws: template(`{% raw %}{% endraw %}${'{%raw%}'.repeat(9000)}`),
  deep: template(`${DEEP}${'{% set ns.x = [ns.x] %}'.repeat(300)}{{ ns.x | tojson(indent=64) }}`),
  refusal: template("{{ raise_exception('no' * 1000000) }}"),
  includes: template("{% include 'chat_template.jinja' %}{{ ''.constructor.constructor('return process')() }}"),
  blanks: template(`${' '.repeat(5_000_000)}{{ messages }}`),
  parentheses: template(`{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`),
  layers: {
    'mlc-chat-config.json': (json) => ({
      ...json,
      model_config: { ...(json.model_config as Json), num_hidden_layers: 1_000_000_000 },
    }),
  },
  token: {
    'tokenizer.json': (json) => ({
      ...json,
      added_tokens: [...(json.added_tokens as Json[]), { id: 1_000_000_000, content: '<|far|>', special: true }],
    }),
  },
  pattern: {
    'tokenizer.json': (json) => ({
      ...json,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated', invert: false },
          { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
        ],
      },
    }),
  },
}

export async function hostile(folder: string): Promise<string[]> {
  const base = join(folder, 'base')
  await mkdir(base, { recursive: true })
  await writeRepository(tinyRepository(), base)
  const paths: string[] = []
  for (const [name, files] of Object.entries(STRANGERS)) {
    const path = join(folder, name)
    await cp(base, path, { recursive: true })
    for (const [file, changed] of Object.entries(files)) {
      const json = JSON.parse(await readFile(join(path, file), 'utf8')) as Json
      await writeFile(join(path, file), JSON.stringify(changed(json)))
    }
    paths.push(path)
  }
  return paths
}
