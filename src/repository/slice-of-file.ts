/** The bytes of a file from one place to another; fewer where it ends before. */
export async function sliceOfFile(
  fs: typeof import('node:fs/promises'),
  path: string,
  from: number,
  to: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const file = await fs.open(path)
  try {
    const data = new Uint8Array(to - from)
    const { bytesRead } = await file.read(data, 0, data.length, from)
    return data.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
