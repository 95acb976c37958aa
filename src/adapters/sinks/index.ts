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
export type { PostgresConnection, PostgresTls } from '../postgres/postgres-connection';
export type { SqlIsolation } from './ledger-transaction';
export { s3Sink, type S3SinkOptions } from './s3-sink';
export type { S3Connection, S3Credentials } from '../s3/s3-connection';
export { SinkError, type SinkErrorCode } from './sink-error';
export { smtpSink, type SmtpSinkOptions } from './smtp-sink';
export type { SmtpCredentials } from './smtp-dialogue';
export type { MailAddress } from './smtp-message';
export { stripeSink, type StripeSinkOptions } from './stripe-sink';
export type { StripeResource } from './stripe-resources';
export type { StripeServer } from './stripe-exchange';
export { mcpSink, type McpSinkOptions } from './mcp-sink';
export type { McpAddress, McpResult } from './mcp-connection';
export type { McpProgram } from './mcp-stdio';
