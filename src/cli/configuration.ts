import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, type Option } from 'commander'
import { isRecord } from '../platform/index.js'
import { agree, type Setting } from './agree.js'
import { Fault } from './fault.js'

const NAME = 'local-v1.json'

/**
 * Options from a file: `{ "serve": { "port": 9000, "model": ["..."] } }`, by command and by the long names of the command
 * line, which goes before. It is read as the command line is: by the same rules, and refused by name. What a file that was
 * only found may do beyond this program is asked first.
 */
export function withConfiguration(root: Command): void {
  root.option('--config <file>', `options by command, as JSON (default: ${NAME} in this folder, if it exists)`)
  root.hook('preAction', async (_, command) => {
    const given = root.opts<{ config?: string }>().config
    const file = given ?? (existsSync(NAME) ? NAME : undefined)
    if (file === undefined) return
    const { contents, value } = read(file)
    const settings = apply(resolve(file), value, root, command)
    if (given === undefined) await agree(realpathSync(file), contents, settings)
  })
}

function read(file: string): { contents: Buffer; value: Record<string, unknown> } {
  try {
    const contents = readFileSync(file)
    const value: unknown = JSON.parse(new TextDecoder().decode(contents))
    if (isRecord(value)) return { contents, value }
  } catch (error) {
    throw new Fault(`${file} cannot be read: ${(error as Error).message}`)
  }
  throw new Fault(`${file} must contain an object, like { "serve": { "port": 9000 } }.`)
}

/** Returns what it has set. */
function apply(file: string, all: Record<string, unknown>, root: Command, command: Command): Setting[] {
  const known = root.commands.map((each) => each.name())
  const unknown = Object.keys(all).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Fault(`${file}: '${unknown}' is not a command; the commands are ${known.join(', ')}.`)
  // Also of the commands that do not run now: who has written it sees it at once.
  const wrong = Object.keys(all).find((name) => !isRecord(all[name]))
  if (wrong !== undefined) throw new Fault(`${file}: '${wrong}' must be an object of options.`)
  return pathTo(command, root).flatMap((each) => {
    const values = Object.hasOwn(all, each.name()) ? (all[each.name()] as object) : {}
    return Object.entries(values).flatMap(([name, value]) =>
      set(file, command, name, value) ? [{ option: name, value }] : [],
    )
  })
}

/** `models` and `list`, for `models list`. */
function pathTo(command: Command, root: Command): Command[] {
  return command === root || !command.parent ? [] : [...pathTo(command.parent, root), command]
}

/** Whether it was set: what the command line says goes before. */
function set(file: string, command: Command, name: string, value: unknown): boolean {
  const named = (long: string) => command.options.find((each) => each.long === long)
  // One that takes a value may have a form without: `false` means that.
  const option = (value === false && named(`--no-${name}`)) || (named(`--${name}`) ?? named(`--no-${name}`))
  const place = `${file}: ${command.name()}.${name}`
  if (!option) throw new Fault(`${place} is not an option; local-v1 ${command.name()} --help lists them.`)
  const key = option.attributeName()
  if (command.getOptionValueSource(key) === 'cli') return false
  command.setOptionValueWithSource(key, parsed(place, option, value), 'config')
  return true
}

function parsed(place: string, option: Option, value: unknown): unknown {
  if (option.isBoolean() || option.negate) {
    if (typeof value === 'boolean') return value
    throw new Fault(`${place} must be true or false.`)
  }
  const texts = Array.isArray(value) ? value : [value]
  if (texts.length === 0) throw new Fault(`${place} is an empty list: give it a value, or leave it out.`)
  if (!texts.every((text) => typeof text === 'string' || typeof text === 'number')) {
    throw new Fault(`${place} must be a text, a number or a list of them.`)
  }
  const isList = REPEATABLE.test(option.description)
  if (!isList && texts.length !== 1) throw new Fault(`${place} takes one value.`)
  try {
    let result: unknown
    for (const text of texts.map(String)) {
      if (option.argChoices && !option.argChoices.includes(text)) {
        throw new InvalidArgumentError(`It must be one of ${option.argChoices.join(', ')}.`)
      }
      result = option.argChoices || !option.parseArg ? text : option.parseArg(text, result)
    }
    return result
  } catch (error) {
    throw new Fault(`${place}: ${(error as Error).message}`)
  }
}

const REPEATABLE = /repeatable/
