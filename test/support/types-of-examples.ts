import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { FULL } from './full.js'

const run = promisify(execFile)

/** TypeScript 7 says the same of them as the 5.9 that most users have, which reads all types for each page anew: `FULL`. */
const COMPILER = FULL
  ? ['node_modules/typescript/bin/tsc']
  : ['node_modules/typescript-7/bin/tsc', '--ignoreConfig', '--singleThreaded']
const FLAGS = '--noEmit --strict --skipLibCheck --jsx react-jsx --target es2022 --module nodenext'
const LIBRARIES = '--types node,@webgpu/types --lib es2023,dom,dom.iterable,dom.asynciterable'

/** Fails with what the compiler says of the code of a page. */
export async function expectTyped(root: URL | string, files: readonly string[]): Promise<void> {
  const args = [...COMPILER, ...FLAGS.split(' '), ...LIBRARIES.split(' '), ...files]
  await run(process.execPath, args, { cwd: root }).catch(({ stdout }: { stdout: string }) => expect.fail(stdout))
}
