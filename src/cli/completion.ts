import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A script that completes commands, options and their choices, made of the command line itself. */
export function completion(root: Command, shell: Shell): string {
  const all = commandsOf(root, [])
  if (shell === 'fish') return fish(all)
  const bash = forBash(all)
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`
}

interface Known {
  readonly path: readonly string[]
  readonly command: Command
}

function commandsOf(command: Command, path: readonly string[]): Known[] {
  const below = command.commands.flatMap((each) => commandsOf(each, [...path, each.name()]))
  return [{ path, command }, ...below]
}

const optionsOf = ({ command }: Known) => [...command.options.map(({ long }) => long ?? ''), '--help']
const wordsOf = (known: Known) => [...known.command.commands.map((each) => each.name()), ...optionsOf(known)]

function forBash(all: readonly Known[]): string {
  const cases = all.map((known) => `    '${known.path.join(' ')}') words='${wordsOf(known).join(' ')}' ;;`)
  // Of each command its own: `--engine` has more choices with one than with another, and `--json` a file with one alone.
  const values = all.flatMap(({ path, command }) =>
    command.options.flatMap(({ long, argChoices, flags }) => {
      const words = argChoices ? `-W '${argChoices.join(' ')}'` : /<(file|folder)>/.test(flags) ? '-f' : undefined
      const place = `'${path.join(' ')} ${long}'`
      return words === undefined ? [] : [`    ${place}) COMPREPLY=($(compgen ${words} -- "$current")); return ;;`]
    }),
  )
  const paths = all.map(({ path }) => `'${path.join(' ')}'`)
  return `# local-v1: eval "$(local-v1 completion bash)"
_local_v1() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in ${paths.slice(1).join('|')}) path="\${path:+$path }$word" ;; esac
  done
  case "$path $before" in
${values.join('\n')}
  esac
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -F _local_v1 local-v1
`
}

function fish(all: readonly Known[]): string {
  const lines = all.flatMap(({ path, command }) => {
    const here = path.length === 0 ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.at(-1)}`
    const commands = command.commands.map(
      (each) => `complete -c local-v1 -f -n '${here}' -a ${each.name()} -d '${quoted(each.description())}'`,
    )
    const options = command.options.map(({ long, argChoices, description }) => {
      const choices = argChoices ? ` -x -a '${argChoices.join(' ')}'` : ''
      return `complete -c local-v1 -n '${here}' -l ${(long ?? '').slice(2)}${choices} -d '${quoted(description)}'`
    })
    return [...commands, ...options]
  })
  return `# local-v1: local-v1 completion fish | source\n${lines.join('\n')}\n`
}

const quoted = (text: string) => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
