/** Stores that keep what must survive; imported as `countersign/stores`. */
export { checkpointFolderView, type FolderOnDisk } from './checkpoint-folder-view';
export { CheckpointJournal, type CheckpointJournalOptions, type JournalContent } from './checkpoint-journal';
export { fileStore, FileStore, type FileStoreOptions } from './file-store';
export { type ContentKeys, type KeyRing } from './content-keys';
export { contentKeysFromFile } from './content-key-file';
export { rotateContentKeys, type Rotated } from './data-keys';
export { encryptedContents, type EncryptedContentsOptions } from './encrypted-contents';
export {
  PostgresContentStore,
  postgresContentStore,
  PostgresStore,
  postgresStore,
  type PostgresStoreOptions,
} from './postgres-store';
export { type PostgresConnection, type PostgresTls } from '../postgres/postgres-connection';
export { type PostgresLimits } from './postgres-pool';
export { migratePostgresStore, type PostgresMigrated, type PostgresMigrationOptions } from './postgres-migration';
export { type S3Connection, type S3Credentials } from '../s3/s3-connection';
export { isS3Address, parseS3Address } from './s3-address';
export { S3ContentStore, s3ContentStore, S3Store, s3Store, type S3StoreOptions } from './s3-store';
export { type Closable, openContentStore, openStore, type OpenStoreOptions } from './open-store';
