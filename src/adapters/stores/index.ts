/** Stores that keep what must survive; imported as `countersign/stores`. */
export { fileStore, FileStore, type FileStoreOptions } from './file-store';
