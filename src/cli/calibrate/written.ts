/**
 * Examples as one writes them by hand. A text begins with `# subject`; under it `? question = a | *b | c` is a choice,
 * `^ question = low | *high` a score whose levels are in order, `! statement = true` a predicate; the star is at the right
 * one. What stands before the first text is a comment.
 */
import { Fault } from '../fault.js'

/** A text, and questions about it as `POST /decisions` takes them. */
export interface Example {
  readonly input: unknown
  readonly questions: readonly ExampleQuestion[]
  /** Where it stands. */
  readonly place: string
}

export interface ExampleQuestion {
  readonly type: string
  /** The right one: `true` or `false` of a predicate, the value of a choice, the label of a level. */
  readonly answer: unknown
  readonly [field: string]: unknown
}

const QUESTION_LINE = /^[?^!] /

export function writtenExamples(source: string, file: string): Example[] {
  const found: Example[] = []
  let text: string[] = []
  let questions: ExampleQuestion[] = []
  let place = ''
  const close = () => {
    if (questions.length > 0) found.push({ input: text.join('\n').trim(), questions, place })
  }
  source.split(/\r?\n/).forEach((line, i) => {
    if (line.startsWith('# ')) {
      close()
      ;[text, questions, place] = [[], [], `${file}:${i + 1}`]
    } else if (place !== '' && QUESTION_LINE.test(line)) questions.push(questionOf(line, `${file}:${i + 1}`))
    else text.push(line)
  })
  close()
  return found
}

function questionOf(line: string, place: string): ExampleQuestion {
  const at = line.lastIndexOf(' = ')
  if (at < 0) throw new Fault(`${place} has no ' = ' before its answers.`)
  const instructions = line.slice(2, at).trim()
  const expected = line.slice(at + 3).trim()
  if (line.startsWith('!')) {
    if (expected !== 'true' && expected !== 'false') throw new Fault(`${place} must end in true or false.`)
    return { type: 'predicate', instructions, answer: expected === 'true' }
  }
  const written = expected.split(' | ').map((option) => option.trim())
  const [answer, ...more] = written.filter((option) => option.startsWith('*')).map((option) => option.slice(1))
  if (answer === undefined || more.length > 0) throw new Fault(`${place} must have a star at one of its answers.`)
  const options = written.map((option) => option.replace(/^\*/, ''))
  if (line.startsWith('?')) {
    return { type: 'choice', instructions, choices: options.map((value) => ({ value })), answer }
  }
  return { type: 'score', instructions, levels: options.map((label) => ({ label })), answer }
}
