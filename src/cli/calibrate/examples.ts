/** Questions whose answers are known, in files: as JSON, one text a line, or as plain text. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { Fault } from '../fault.js'
import { type Example, type ExampleQuestion, writtenExamples } from './written.js'

/** A text, and what is to be extracted from it: typed fields as `POST /extractions` takes them, or a document. */
export type ExtractionExample = {
  readonly input: string
  readonly place: string
} & (
  | {
      /** Each with the value that is right, or null. */
      readonly fields: Readonly<Record<string, JsonObject & { readonly answer?: unknown }>>
      /** `reference_date`, `locale`. */
      readonly more: JsonObject
    }
  | { readonly schema: JsonObject; readonly answer: unknown; readonly instructions?: string }
)

export interface Examples {
  readonly decisions: readonly Example[]
  readonly extractions: readonly ExtractionExample[]
}

/** From a file, or all `.jsonl` and `.txt` files of a folder. */
export async function readExamples(path: string): Promise<Examples> {
  const all = await Promise.all((await filesAt(path)).map(examplesOf))
  const decisions = all.flatMap((each) => each.decisions)
  const extractions = all.flatMap((each) => each.extractions)
  if (decisions.length + extractions.length === 0) {
    throw new Fault(`${path} has no questions with answers, and no extractions.`)
  }
  return { decisions, extractions }
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new Fault(`The examples ${path} cannot be read: ${(cause as Error).message}`)
  })
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => /\.(jsonl|txt)$/.test(name)).sort()
  if (names.length === 0) throw new Fault(`The folder ${path} has no .jsonl or .txt files.`)
  return names.map((name) => join(path, name))
}

async function examplesOf(file: string): Promise<Examples> {
  const source = (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  if (file.endsWith('.txt')) return { decisions: writtenExamples(source, file), extractions: [] }
  const lines = source.split(/\r?\n/).map((line, i) => ({ line, place: `${file}:${i + 1}` }))
  const read = lines.filter(({ line }) => line.trim() !== '').map(({ line, place }) => exampleOf(line, place))
  const decisions = read.filter((example): example is Example => 'questions' in example)
  return { decisions, extractions: read.filter((example): example is ExtractionExample => !('questions' in example)) }
}

function exampleOf(line: string, place: string): Example | ExtractionExample {
  const value = parsed(line, place)
  if (!isRecord(value)) throw new Fault(`${place} must be an object.`)
  const { input, questions } = value
  if (questions === undefined && (isRecord(value.fields) || isRecord(value.schema))) return extractionOf(value, place)
  if (!Array.isArray(questions) || !questions.every(isRecord)) {
    throw new Fault(
      `${place} must have 'input' and 'questions', a list of objects with an 'answer' each; or 'fields', or 'schema' and 'answer'.`,
    )
  }
  const silent = questions.findIndex((question) => question.answer === undefined)
  if (silent >= 0) throw new Fault(`${place}: questions[${silent}] has no 'answer'.`)
  return { input, questions: questions as unknown as ExampleQuestion[], place }
}

function extractionOf({ input, ...value }: JsonObject, place: string): ExtractionExample {
  if (typeof input !== 'string') throw new Fault(`${place} must have 'input', the text to read.`)
  const { schema, answer, instructions, fields, ...more } = value
  if (!isRecord(fields)) {
    if (answer === undefined) throw new Fault(`${place} has no 'answer', the right document.`)
    const extra = typeof instructions === 'string' ? { instructions } : {}
    return { input, schema: schema as JsonObject, answer, ...extra, place }
  }
  for (const [name, field] of Object.entries(fields)) {
    if (!isRecord(field) || field.answer === undefined) throw new Fault(`${place}: fields.${name} has no 'answer'.`)
  }
  return { input, fields: fields as Readonly<Record<string, JsonObject>>, more, place }
}

function parsed(line: string, place: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new Fault(`${place} is not JSON: ${(cause as Error).message}`)
  }
}
