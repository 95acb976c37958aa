/** Runs the idempotency server as its own process: `idempotency-server-main [--port N]`. Its first line is `{server, url, pid}`. */
import { startIdempotencyServer } from './idempotency-server';
import { announce, portArgument } from './sink-server';

void startIdempotencyServer({ port: portArgument(process.argv) }).then((server) => announce('idempotency', server));
