/** What `npm run check:nightly` runs, and with which paths. */

export const PLACES = {
  peers: 'where node-llama-cpp is installed, and the libraries that check:readers compares with',
  transformers: 'where @huggingface/transformers is installed',
  templates: 'chat templates as their makers publish them',
  grammars: 'grammars of custom tools: *.lark, *.regex',
  python: 'where these are installed: pip install lark tokenizers sentencepiece protobuf -t FOLDER',
  lib: 'a compiled library for WebLLM',
} as const

export type Place = keyof typeof PLACES
type Options = Readonly<Partial<Record<Place, string>>>

export interface Check {
  readonly name: string
  /** Paths without which it is left out, and its own options for them; `''`: an argument without one. */
  readonly needs?: Options
  /** Paths that let it compare more, where they are given. */
  readonly takes?: Options
  readonly args?: readonly string[]
}

/** What became of mutants, which lasts for hours: a night that was cut is gone on with in the next. */
const FATES = 'node_modules/.cache/local-v1-mutants/fates'

/**
 * Those of our own code first, then those in browsers and clients, then those beside others' programs, and last the one
 * that tells of our tests, which takes longest.
 */
export const CHECKS: readonly Check[] = [
  { name: 'test' },
  ...['schemas', 'masks', 'hostile', 'heads', 'fuzz', 'hostile-clients', 'soak'].map(check),
  { ...check('readers'), takes: { peers: '--peers' } },
  ...['patterns', 'evidence', 'nano', 'real', 'cache', 'wide'].map(check),
  ...['browser', 'browsers', 'bundlers', 'docs', 'newcomer', 'clients', 'webllm-list'].map(check),
  { ...check('webllm'), needs: { lib: '--lib' } },
  { ...check('templates'), needs: { templates: '' } },
  { ...check('grammars'), needs: { grammars: '', python: '--python' } },
  { ...check('own-loops'), needs: { transformers: '--transformers', peers: '--llama' } },
  { ...check('gguf'), needs: { peers: '--peers' } },
  { ...check('tokenizers'), needs: { peers: '--peers' }, takes: { python: '--python' } },
  { ...check('models'), needs: { peers: '--peers' } },
  { ...check('mutants'), args: ['--resume', FATES] },
]

/** Those that no night runs, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = { 'check:nightly': 'it is what runs the others' }

function check(name: string): Check {
  return { name: `check:${name}` }
}

/** What a check is told after its name, or the options that it waits for. */
export function argsOf(
  { needs = {}, takes = {}, args = [] }: Check,
  paths: Options,
): readonly string[] | { lacks: string } {
  const of = (options: Options) =>
    Object.entries(options).map(([place, option]) => [option, paths[place as Place]] as const)
  if (of(needs).some(([, path]) => path === undefined)) {
    return {
      lacks: Object.keys(needs)
        .map((place) => `--${place} PATH`)
        .join(' '),
    }
  }
  const given = [...of(needs), ...of(takes)].filter(([, path]) => path !== undefined)
  return [...args, ...given.flatMap(([option, path]) => [option, path!].filter((word) => word !== ''))]
}
