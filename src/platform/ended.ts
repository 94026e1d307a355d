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

interface Host {
  readonly os: Pick<typeof import('node:os'), 'hostname'>
  readonly fs: Pick<typeof import('node:fs'), 'readlinkSync' | 'readFileSync'>
  readonly crypto: Pick<typeof import('node:crypto'), 'createHash'>
}

/** What process ids belong to, a machine since it was started or a container on it, as a word for names of files. */
export const processHost = (host: Host): string =>
  host.crypto.createHash('sha256').update(nameOf(host)).digest('hex').slice(0, 8)

function nameOf({ os, fs }: Host): string {
  try {
    // Linux tells apart containers whose machines have one name, and one start of a machine from another.
    const [container, start] = [fs.readlinkSync('/proc/self/ns/pid'), '/proc/sys/kernel/random/boot_id']
    return `${os.hostname()} ${container} ${fs.readFileSync(start, 'utf8').trim()}`
  } catch {
    return os.hostname()
  }
}
