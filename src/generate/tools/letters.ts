import type { ToolSpec } from '../../contract/index.js'
import { isRecord } from '../../platform/index.js'
import type { CallReader, ToolCallDelta } from './format.js'

/** What a reader has found: the name of the call, then pieces of its arguments as JSON. */
export interface Findings {
  name(name: string): void
  add(json: string): void
}

/** A reader as one straight story: it is given the call letter by letter, as it is written. */
export type Story = (found: Findings) => Generator<undefined, void, string>

export function readerOf(story: Story): CallReader {
  let name: string | undefined
  let json = ''
  const reading = story({
    name: (given) => {
      name = given
    },
    add: (more) => {
      json += more
    },
  })
  reading.next()
  return {
    push(text): ToolCallDelta | undefined {
      for (const letter of text) reading.next(letter)
      const delta = { ...(name !== undefined && { name }), arguments: json }
      if (name === undefined && json === '') return undefined
      name = undefined
      json = ''
      return delta
    },
  }
}

/** All up to `end`, which is read too; where there is `tell`, that hears of it instead, as soon as it is certain. */
export function* readUpTo(end: string, tell?: (text: string) => void): Generator<undefined, string, string> {
  let all = ''
  // What `end` may begin with: no more is looked at again, of a text that may be a megabyte.
  let open = ''
  while (open !== end) {
    open += yield
    let safe = 0
    while (!end.startsWith(open.slice(safe))) safe++
    const certain = open.slice(0, safe)
    open = open.slice(safe)
    if (!tell) all += certain
    else if (safe > 0) tell(certain)
  }
  return all
}

/**
 * A name up to `end`, a letter that is read too; `first` was read already. A tool's parameter may be called `price>=`: where
 * one of the `names` goes on behind such a letter, and none ends there, so does this one.
 */
export function* readName(end: string, names: readonly string[], first: string): Generator<undefined, string, string> {
  let name = ''
  for (let letter = first; ; letter = yield) {
    const goesOn = !names.includes(name) && names.some((each) => each.startsWith(name + end))
    if (letter === end && !goesOn) return name
    name += letter
  }
}

/** What the parameters of a tool are called. */
export function namesOfParameters(tools: readonly ToolSpec[], tool: string): string[] {
  const properties = tools.find(({ name }) => name === tool)?.parameters.properties
  return isRecord(properties) ? Object.keys(properties) : []
}

/** The inside of a JSON string. */
export const insideOfString = (text: string): string => JSON.stringify(text).slice(1, -1)
