/** Something the person at the terminal can mend: shown as one line, without a stack. */
export class Fault extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super(message)
    this.name = 'Fault'
    this.exitCode = exitCode
  }
}
