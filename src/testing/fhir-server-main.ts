/**
 * Runs the FHIR server as its own process: `fhir-server-main [--port N] [--without-definitions]`. Its first line is
 * `{server, url, pid, base_url}`.
 */
import { startFhirServer } from './fhir-server';
import { announce, portArgument } from './sink-server';

void startFhirServer({
  port: portArgument(process.argv),
  withDefinitions: !process.argv.includes('--without-definitions'),
}).then((server) => announce('fhir', server, { base_url: server.baseUrl }));
