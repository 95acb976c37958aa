/** Runs the counting server as its own process: `counting-server-main [--port N]`. Its first line is `{server, url, pid}`. */
import { startCountingServer } from './counting-server';
import { announce, portArgument } from './sink-server';

void startCountingServer({ port: portArgument(process.argv) }).then((server) => announce('counting', server));
