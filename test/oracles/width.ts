import process from 'node:process'

/**
 * Rows in K types are whole blocks of 256 values: cases are so wide where `MODELS_WIDE` is set, which `check:gguf` does.
 * Else they are as odd as models may be.
 */
export const wide = (usual: number, whole: number): number => (process.env.MODELS_WIDE ? whole : usual)
