/**
 * A disk that is slow while a file is there: every flush that this process asks the system for begins late, that of a file and that
 * of a folder. What asks knows nothing of it.
 */
import fs from 'node:fs';

export function slowWhile(file: string, lateMs: number): void {
  const { fsync } = fs;
  const late = (fd: number, done: fs.NoParamCallback): void => {
    if (fs.existsSync(file)) setTimeout(() => fsync(fd, done), lateMs);
    else fsync(fd, done);
  };
  Object.assign(fs, { fsync: late });
}
