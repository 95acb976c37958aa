/** Sinks that come with Countersign. Invariant: importing them needs nothing but Node. */
export { commandSink, type CommandSinkOptions } from './command-sink';
export { effectResourceId } from './fhir-resource';
export { fhirSink, type FhirSinkOptions } from './fhir-sink';
export { httpSink, type HttpSinkOptions, type HttpSinkReply } from './http-sink';
export { migratePostgresSink, postgresLedgerDdl, type LedgerDdlOptions, type MigrateOptions } from './effect-ledger';
export {
  OMOP_ROLLBACK_SCHEMA_VERSION,
  proposeOmopRollback,
  type OmopRollbackProposal,
  type OmopRollbackTable,
} from './omop-rollback';
export { omopSink, type OmopSinkOptions } from './omop-sink';
export { postgresSink, type PostgresSinkOptions, type PostgresStatement, type PostgresValue } from './postgres-sink';
export type { PostgresConnection, PostgresTls } from '../stores/postgres-connection';
export type { SqlIsolation } from './ledger-transaction';
export { SinkError, type SinkErrorCode } from './sink-error';
export { smtpSink, type SmtpSinkOptions } from './smtp-sink';
export type { SmtpCredentials } from './smtp-dialogue';
export type { MailAddress } from './smtp-message';
