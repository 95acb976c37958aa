/**
 * Where the journals of the cells are kept. Invariant: one kind for a whole run of the matrix, and a place of its own in it for
 * every cell.
 */
export const JOURNAL_NAMES = ['files', 'postgres', 's3'] as const;
export type JournalName = (typeof JOURNAL_NAMES)[number];

interface JournalKind {
  readonly about: string;
  /**
   * What is written together becomes visible together. Then there is no moment after a checkpoint and before the slot that is
   * written with it: whoever is killed "after the append" has taken the slot as well, and left that effect in doubt.
   */
  readonly joint: boolean;
}

export const JOURNALS: Record<JournalName, JournalKind> = {
  files: { about: 'a folder', joint: false },
  postgres: { about: 'a schema in PostgreSQL', joint: true },
  s3: { about: 'a prefix in an S3 bucket (versitygw)', joint: false },
};
