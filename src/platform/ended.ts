type Program = Pick<typeof import('node:process'), 'kill'>

/** Whether a process of this machine has ended for certain. */
export function hasEnded(program: Program, pid: number): boolean {
  try {
    program.kill(pid, 0)
    return false
  } catch (error) {
    // Another user's process is alive, and one that may not be asked for may be.
    return (error as { code?: string }).code === 'ESRCH'
  }
}
