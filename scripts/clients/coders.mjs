/** Agents of the terminal, each in a folder and a home of its own: asked once, then again in the same session. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as told from './told.mjs'

/** They are programs of their own, which begin anew with each question. */
export const limit = 240_000
const BIN = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))
const ASKED = ['How is the weather?', 'And again?']

export function calls({ scripted, key }) {
  /** What a program prints; nobody types to it. */
  const printed = (program, args, place, env) =>
    new Promise((resolve, reject) => {
      const options = {
        cwd: join(place, 'work'),
        timeout: limit / 2,
        maxBuffer: 2 ** 26,
        env: {
          PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
          HOME: join(place, 'home'),
          LOCAL_V1_KEY: key,
          NO_COLOR: '1',
          ...env,
        },
      }
      const child = execFile(join(BIN, program), args, options, (error, stdout, stderr) => {
        if (error) reject(new Error(`${stdout}${stderr}`.slice(-400) || error.message))
        else resolve(stdout)
      })
      child.stdin.end()
    })
  const twice =
    (program, argsOf, env = {}, files = {}) =>
    async () => {
      const place = await mkdtemp(join(tmpdir(), 'local-v1-coder-'))
      try {
        for (const name of ['home', 'work']) await mkdir(join(place, name))
        for (const [name, text] of Object.entries(files)) await writeFile(join(place, 'work', name), text)
        for (const [i, words] of ASKED.entries()) {
          const said = await printed(program, argsOf(words, i > 0), place, env)
          told.same([said.includes('I was told: '), said.includes('sunny in Bern')], [true, true])
        }
        return 'it ran a command and went on from it, twice'
      } finally {
        await rm(place, { recursive: true, force: true })
      }
    }
  const provider = `model_providers.here={name="here",base_url="${scripted}",env_key="LOCAL_V1_KEY",wire_api="responses"}`
  const codex = ['-c', 'model_provider=here', '-c', provider, '-m', told.CODER, '--skip-git-repo-check', '--json']
  const claude = {
    ANTHROPIC_BASE_URL: scripted.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    IS_SANDBOX: '1',
  }
  const opencode = {
    provider: {
      here: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: scripted, apiKey: key },
        models: { [told.CODER]: {} },
      },
    },
    autoupdate: false,
    share: 'disabled',
    permission: { bash: 'allow' },
  }
  return {
    'Codex: codex exec, and resume': twice('codex', (words, again) => {
      const how = [...codex, '--dangerously-bypass-approvals-and-sandbox']
      return ['exec', ...(again ? ['resume', '--last'] : []), ...how, words]
    }),
    'Claude Code: claude -p, and --continue': twice(
      'claude',
      (words, again) => [
        '-p',
        words,
        ...(again ? ['--continue'] : []),
        '--model',
        told.CODER,
        '--allowedTools',
        'Bash',
      ],
      claude,
    ),
    'opencode: run, and --continue': twice(
      'opencode',
      (words, again) => ['run', ...(again ? ['--continue'] : []), '-m', `here/${told.CODER}`, words],
      {},
      { 'opencode.json': JSON.stringify(opencode) },
    ),
  }
}
