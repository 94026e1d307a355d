/** The words of a program, for colours: close enough for what stands in the dialog, whatever its language. */
export interface CodeToken {
  readonly kind: 'comment' | 'string' | 'number' | 'word' | 'plain'
  readonly text: string
}

const STRINGS = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|\`(?:[^\`\\]|\\.)*\``
const NUMBERS = String.raw`\b\d+(?:\.\d+)?\b`
const SCRIPT = 'as|await|catch|const|export|for|from|function|if|import|in|let|new|of|return|true|false|null'
const PYTHON = 'and|as|def|for|from|if|import|in|None|not|print|return|True|False'
const SHELL = 'cat|curl|npx|true|false|null'

const languages = {
  script: pattern('//.*', SCRIPT),
  python: pattern('#.*', PYTHON),
  shell: pattern('^[ \\t]*#.*', SHELL),
}

/** By the name that a sample is chosen by. */
export function codeTokens(code: string, name: string): CodeToken[] {
  const words = name === 'Python' ? languages.python : /curl|Terminal/.test(name) ? languages.shell : languages.script
  const tokens: CodeToken[] = []
  let from = 0
  for (const found of code.matchAll(words)) {
    if (found.index > from) tokens.push({ kind: 'plain', text: code.slice(from, found.index) })
    const [kind] = Object.entries(found.groups!).find(([, text]) => text !== undefined)!
    tokens.push({ kind: kind as CodeToken['kind'], text: found[0] })
    from = found.index + found[0].length
  }
  if (from < code.length) tokens.push({ kind: 'plain', text: code.slice(from) })
  return tokens
}

function pattern(comment: string, words: string): RegExp {
  return new RegExp(
    `(?<comment>${comment})|(?<string>${STRINGS})|(?<number>${NUMBERS})|(?<word>\\b(?:${words})\\b)`,
    'gm',
  )
}
