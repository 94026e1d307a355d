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

/** What a program prints; nobody types to it. `place`: a home and a folder to work in. */
export const printed = (program, args, place, env) =>
  new Promise((resolve, reject) => {
    const options = {
      cwd: join(place, 'work'),
      timeout: limit,
      maxBuffer: 2 ** 26,
      env: {
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        HOME: join(place, 'home'),
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

/** A home and a folder to work in, with these files, for as long as something is done there. */
export async function inPlace(files, act) {
  const place = await mkdtemp(join(tmpdir(), 'local-v1-coder-'))
  try {
    for (const name of ['home', 'work']) await mkdir(join(place, name))
    for (const [name, text] of Object.entries(files)) await writeFile(join(place, 'work', name), text)
    return await act(place)
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** How each is told of a service and a model: its arguments for a first question and for one more. */
export function programs({ url, key, model }) {
  const provider = `model_providers.here={name="here",base_url="${url}",env_key="LOCAL_V1_KEY",wire_api="responses"}`
  const codex = ['-c', 'model_provider=here', '-c', provider, '-m', model, '--skip-git-repo-check', '--json']
  const claude = {
    ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    IS_SANDBOX: '1',
  }
  const opencode = {
    provider: {
      here: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: url, apiKey: key },
        models: { [model]: {} },
      },
    },
    autoupdate: false,
    share: 'disabled',
    permission: { bash: 'allow' },
  }
  const pi = { here: { baseUrl: url, api: 'openai-completions', apiKey: key, models: [{ id: model }] } }
  const ofContinue = { provider: 'openai', model, apiBase: url, apiKey: key, capabilities: ['tool_use'] }
  return {
    Codex: {
      program: 'codex',
      args: (words, again) => {
        const how = [...codex, '--dangerously-bypass-approvals-and-sandbox']
        return ['exec', ...(again ? ['resume', '--last'] : []), ...how, words]
      },
      env: { LOCAL_V1_KEY: key },
    },
    'Claude Code': {
      program: 'claude',
      args: (words, again) => [
        ...['-p', words],
        ...(again ? ['--continue'] : []),
        ...['--model', model, '--allowedTools', 'Bash'],
      ],
      env: claude,
    },
    opencode: {
      program: 'opencode',
      args: (words, again) => ['run', ...(again ? ['--continue'] : []), '-m', `here/${model}`, words],
      files: { 'opencode.json': JSON.stringify(opencode) },
    },
    'Qwen Code': {
      program: 'qwen',
      args: (words, again) => ['--auth-type', 'openai', '--yolo', ...(again ? ['--continue'] : []), '-p', words],
      env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: key, OPENAI_MODEL: model },
    },
    pi: {
      program: 'pi',
      args: (words, again) => ['-p', ...(again ? ['--continue'] : []), '--model', `here/${model}`, words],
      env: { PI_CODING_AGENT_DIR: '.', PI_OFFLINE: '1' },
      files: { 'models.json': JSON.stringify({ providers: pi }) },
    },
    'Copilot CLI': {
      program: 'copilot',
      args: (words, again) => ['--yolo', '--no-auto-update', ...(again ? ['--continue'] : []), '-p', words],
      env: {
        COPILOT_PROVIDER_BASE_URL: url,
        COPILOT_PROVIDER_API_KEY: key,
        COPILOT_MODEL: model,
        COPILOT_OFFLINE: 'true',
      },
    },
    Continue: {
      program: 'cn',
      args: (words, again) => ['-p', '--auto', ...(again ? ['--resume'] : []), '--config', 'continue.yaml', words],
      env: { CONTINUE_TELEMETRY_ENABLED: '0' },
      // JSON is YAML.
      files: {
        'continue.yaml': JSON.stringify({
          ...{ name: 'here', version: '1.0.0', schema: 'v1' },
          models: [{ name: 'here', roles: ['chat'], ...ofContinue }],
        }),
      },
    },
  }
}

export function calls({ scripted, key }) {
  const all = programs({ url: scripted, key, model: told.CODER })
  const twice =
    ({ program, args, env = {}, files = {} }) =>
    () =>
      inPlace(files, async (place) => {
        for (const [i, words] of ASKED.entries()) {
          const said = await printed(program, args(words, i > 0), place, env)
          told.same([said.includes('I was told: '), said.includes('sunny in Bern')], [true, true])
        }
        return 'it ran a command and used its output, twice'
      })
  return {
    'Codex: codex exec, and resume': twice(all.Codex),
    'Claude Code: claude -p, and --continue': twice(all['Claude Code']),
    'opencode: run, and --continue': twice(all.opencode),
    'Qwen Code: qwen -p, and --continue': twice(all['Qwen Code']),
    'pi: pi -p, and --continue': twice(all.pi),
    'Copilot CLI: copilot -p, and --continue': twice(all['Copilot CLI']),
    'Continue: cn -p, and --resume': twice(all.Continue),
  }
}
