export interface PulledSource {
  /** The next piece; undefined at the end. */
  pull(): Promise<string | undefined>
  /** The reader has left. */
  cancel(reason: unknown): void
}

/**
 * Text as a byte stream that is pulled: nothing is made that nobody asked for, so that a slow reader holds back the
 * source and memory stays flat.
 */
export function readableOf(source: PulledSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await source.pull()
        if (piece === undefined) controller.close()
        else controller.enqueue(encoder.encode(piece))
      },
      cancel: (reason) => source.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
