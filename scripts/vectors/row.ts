/**
 * The result of one row of a vectors folder. Invariant: a row that was not really run is never `passed`.
 */
export interface RowResult {
  /** File within the folder, such as `decisions.json`. */
  readonly file: string;
  readonly id: string;
  readonly tags: readonly string[];
  readonly outcome: 'passed' | 'failed';
  /** For a failed row: expected and actual answer, in one line. */
  readonly detail?: string;
}

/** A module that runs the rows of one vectors file. */
export interface RowModule {
  run(folder: string): AsyncIterable<RowResult> | Iterable<RowResult> | Promise<Iterable<RowResult>>;
}
