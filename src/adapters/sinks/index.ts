/** Sinks that come with Countersign. Invariant: importing them needs nothing but Node. */
export { commandSink, type CommandSinkOptions } from './command-sink';
export { effectResourceId } from './fhir-resource';
export { fhirSink, type FhirSinkOptions } from './fhir-sink';
export { httpSink, type HttpSinkOptions, type HttpSinkReply } from './http-sink';
export { SinkError, type SinkErrorCode } from './sink-error';
export { smtpSink, type SmtpSinkOptions } from './smtp-sink';
export type { SmtpCredentials } from './smtp-dialogue';
export type { MailAddress } from './smtp-message';
