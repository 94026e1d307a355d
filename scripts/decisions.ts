/** The labelled questions of `models/nano/eval/decisions.txt`; the head of that file says how they are written. */

export interface Decision {
  readonly domain: string
  readonly text: string
  readonly kind: 'choice' | 'score' | 'predicate'
  readonly question: string
  readonly choices: readonly string[]
  readonly right: string
}

const KINDS = { '?': 'choice', '^': 'score', '!': 'predicate' } as const

export function readDecisions(source: string): Decision[] {
  return source
    .split(/^# /m)
    .slice(1)
    .flatMap((part) => {
      const lines = part.trim().split('\n')
      const [domain = '', ...rest] = lines
      const questions = rest.filter((line) => /^[?^!] /.test(line))
      const text = rest.filter((line) => !questions.includes(line)).join('\n')
      return questions.map((line) => ({ domain, text, ...readQuestion(line) }))
    })
}

function readQuestion(line: string): Pick<Decision, 'kind' | 'question' | 'choices' | 'right'> {
  const at = line.lastIndexOf(' = ')
  const kind = KINDS[line[0] as keyof typeof KINDS]
  const question = line.slice(2, at)
  const answer = line.slice(at + 3)
  if (kind === 'predicate')
    return { kind, question: `is it true: ${question}`, choices: ['true', 'false'], right: answer }
  const written = answer.split(' | ')
  const right = written.find((choice) => choice.startsWith('*'))?.slice(1)
  if (right === undefined) throw new Error(`no right answer: ${line}`)
  return { kind, question, choices: written.map((choice) => choice.replace(/^\*/, '')), right }
}
