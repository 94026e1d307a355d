/** Node's own modules, in Node and in Deno, without an import that a bundler for browsers would follow. */
export function builtin<T>(name: string): T | undefined {
  const host = globalThis as { process?: { getBuiltinModule?(name: string): T | undefined } }
  return host.process?.getBuiltinModule?.(name)
}

/** Outside browsers, this runtime by its own name: Deno and Bun tell a version of Node, too. */
export function runtimeName(): string {
  const { process } = globalThis as unknown as { process: { versions: Readonly<Record<string, string | undefined>> } }
  const { deno, bun, node } = process.versions
  return deno ? `Deno ${deno}` : bun ? `Bun ${bun}` : `Node ${node}`
}

const FORBIDDEN = /^(?:Requires \w+ access|Access to this API has been restricted).*(--allow-[a-z-]+)/s

/** What Deno or `node --permission` would have to be started with, if that is what the error is about. */
export function missingFlag(error: unknown): string | undefined {
  return error instanceof Error ? FORBIDDEN.exec(error.message)?.[1] : undefined
}
