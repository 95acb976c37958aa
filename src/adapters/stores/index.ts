/** Stores that keep what must survive; imported as `countersign/stores`. */
export { checkpointFolderView, type FolderOnDisk } from './checkpoint-folder-view';
export { CheckpointJournal, type CheckpointJournalOptions, type JournalContent } from './checkpoint-journal';
export { fileStore, FileStore, type FileStoreOptions } from './file-store';
