/** The part of Deno's globals that the README uses; the real runtime runs it in the test. */
declare const Deno: {
  serve(
    options: { hostname: string; port: number },
    handler: (request: Request, info: object) => Response | Promise<Response>,
  ): unknown
  readonly env: { get(name: string): string | undefined }
}
