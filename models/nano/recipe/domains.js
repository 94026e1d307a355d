/** Reads the domain files: slots, sentences (`>`), and sentences kept for evaluation (`>>`). */
import { readFileSync } from 'node:fs'

export function readDomains(...files) {
  const domains = []
  for (const file of files) {
    for (const line of readFileSync(new URL(`./domains/${file}`, import.meta.url), 'utf8').split('\n')) {
      if (line.startsWith('# ')) domains.push({ name: line.slice(2), slots: {}, sentences: [], heldOut: [] })
      const domain = domains.at(-1)
      if (line.startsWith('>> ')) domain.heldOut.push(line.slice(3))
      else if (line.startsWith('> ')) domain.sentences.push(line.slice(2))
      else if (/^\w+: /.test(line)) readSlot(line, domain.slots)
    }
  }
  return domains
}

function readSlot(line, slots) {
  const [, slot, type, args, names, notes] = /^(\w+): (\w+)(?:\((.*)\))? \| (.*?) \| (.*)$/.exec(line)
  slots[slot] = { type, args: readArgs(type, args ?? ''), names: names.split(', '), notes: notes.split('; ') }
}

function readArgs(type, args) {
  if (type === 'bool') return args.split('; ').map((side) => side.split('/'))
  if (type !== 'enum') return args === '' ? [] : args.split(',')
  return args.split('; ').map((choice) => {
    const [value, phrases] = choice.split('=')
    return { value, phrases: phrases ? phrases.split('/') : [value] }
  })
}
