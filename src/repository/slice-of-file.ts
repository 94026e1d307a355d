/** The bytes of a file from one place to another; fewer where it ends before. `into` has room for them. */
export async function sliceOfFile(
  fs: typeof import('node:fs/promises'),
  path: string,
  from: number,
  to: number,
  into: Uint8Array = new Uint8Array(to - from),
): Promise<Uint8Array> {
  const file = await fs.open(path)
  try {
    const { bytesRead } = await file.read(into, 0, to - from, from)
    return into.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
