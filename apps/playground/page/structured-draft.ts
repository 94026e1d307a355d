/** What stands in the fields of the structured view. */
export interface Draft {
  readonly name: string
  readonly instructions: string
  readonly text: string
  readonly schema: string
}
