/** Node's own modules, in Node and in Deno, without an import that a bundler for browsers would follow. */
export function builtin<T>(name: string): T | undefined {
  const host = globalThis as { process?: { getBuiltinModule?(name: string): T | undefined } }
  return host.process?.getBuiltinModule?.(name)
}
