/** Which of several GGUF files is meant. */

/** Whether the name of a GGUF file says that quantisation. */
export function hasQuantisation(name: string, quantisation: string): boolean {
  const escaped = quantisation.replace(/[.]/g, '\\.')
  return new RegExp(`(^|[^a-z0-9])${escaped}([^a-z0-9_]|$)`, 'i').test(name)
}

/** The GGUF file of a quantisation; of one in parts the first. */
export function pickFile(names: readonly string[], quantisation: string): string | undefined {
  const files = names.filter((name) => /\.gguf$/i.test(name) && !/mmproj/i.test(name))
  return files.filter((name) => hasQuantisation(name, quantisation)).sort()[0]
}

/** The quantisation that the name of a GGUF file says, as its makers write it. */
export function quantisationOf(name: string): string | undefined {
  if (/mmproj/i.test(name)) return undefined
  return name.match(/(?:^|[^a-z0-9])((?:UD-)?I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32)(?![a-z0-9_])/i)?.[1]
}
