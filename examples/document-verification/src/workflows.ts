export { authorizedJob, verificationRun } from 'countersign/workflow';
