/** The response, and a call once its last piece was read or its reader has left. */
export function atItsEnd(response: Response, then: () => void): Response {
  if (!response.body) {
    then()
    return response
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          then()
          controller.close()
        } catch (error) {
          then()
          controller.error(error)
        }
      },
      cancel(reason) {
        then()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const { status, headers } = response
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { status, headers })
}
