/** Tests with all of ours that they use, as one script each: a mutant needs nothing built or looked up again. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Writes `worker.mjs` and `0.mjs`, `1.mjs`, ... into `folder`, with `changed` in place of what the files hold. */
export async function bundle(
  root: string,
  folder: string,
  tests: readonly string[],
  changed: ReadonlyMap<string, string>,
): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: {
      worker: 'scripts/mutants/worker.ts',
      ...Object.fromEntries(tests.map((path, i) => [String(i), path])),
    },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    keepNames: true,
    alias: { 'local-v1/structured': join(root, 'src/grammar/structured.ts') },
    plugins: [inTheirPlace(root, changed)],
    logLevel: 'error',
  })
}

/** Every file believes that it lies where it does: it finds its fixtures, and starts the workers beside it. */
function inTheirPlace(root: string, changed: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'in-their-place',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = changed.get(path.slice(root.length)) ?? (await readFile(path, 'utf8'))
        const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        return { contents, loader: 'ts' }
      })
    },
  }
}
