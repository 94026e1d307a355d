/** `npm test`: the build beside lint and the check of types, as one core is enough for each; then all tests. */
import { spawn } from 'node:child_process'
import { canUnpack, unpack } from '../test/support/unpack.js'
import { isBuilt } from './built.js'

const run = (command: string, ...args: string[]): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', shell: process.platform === 'win32' })
    child.on('error', () => resolve(false))
    child.on('close', (code) => resolve(code === 0))
  })

const built = isBuilt()
// The check of types reads what it writes.
if (!built && !(await run('npm', 'run', 'build:kernels'))) process.exit(1)
const build = built ? Promise.resolve(true) : run('npm', 'run', 'build')
const lint = run('npm', 'run', 'lint')
const types = lint.then((clean) => clean && run('npm', 'run', 'typecheck'))
// Or each of the first tests, which begin together, unpacks it for itself.
const needed = canUnpack && !process.env.LOCAL_V1_CHROMIUM
const unpacked = needed ? unpack('chromium').then(() => true) : Promise.resolve(true)
const ready = await Promise.all([build, types, unpacked])
const passed = ready.every(Boolean) && (await run('npx', 'vitest', 'run', ...process.argv.slice(2)))
process.exit(passed ? 0 : 1)
