/**
 * Agents of the terminal, as they come: what they send and keep is their own, and so are their tools. The model that they
 * ask is led by `coder-server.ts`: it runs commands by their shell, then says what it was told.
 */
import { inPlace, printed, programs } from '../coders.mjs'

/** How often a model asks for a command before it answers. */
const CALLS = 4
/** What is asked, process by process. */
export const kinds = {
  fresh: ['How is the weather?'],
  'parallel calls': ['Two at once, please.'],
  thoughts: ['Think, then look.', 'And again?'],
  resumed: ['How is the weather?', 'And again?', 'And once more?'],
}

export const forms = Object.fromEntries(
  Object.keys(programs({ url: '', key: '', model: '' })).map((name) => [name, (asked) => conversation(name, asked)]),
)

function conversation(name, { url, key, model, history: words }) {
  const { program, args, env = {}, files = {} } = programs({ url, key, model })[name]
  return {
    run: () =>
      inPlace(files, async (place) => {
        const faults = []
        for (const [i, text] of words.entries()) {
          try {
            const said = await printed(program, args(text, i > 0), place, env)
            if (!said.includes('I was told: sunny')) throw new Error(`it ends with ${said.slice(-200)}`)
          } catch (error) {
            faults.push({ turn: i + 1, what: String(error.message).slice(0, 300) })
            break
          }
        }
        const rounds = words[0].startsWith('Two') ? CALLS / 2 : CALLS
        return { asked: words.length * (rounds + 1), faults }
      }),
  }
}
