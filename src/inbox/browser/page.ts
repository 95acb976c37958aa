/** The script of every page: each part looks whether its place is there. Invariant: without it a page still shows all and takes receipts. */
import { answerWithOwnKey } from './answer';
import { showChain } from './chain';
import { checkContents } from './contents';
import { filterItems } from './filter';
import { keepLive } from './live';
import { showLog } from './record-log';
import { signInWithOwnKey, staySignedIn } from './sign-in';

document.documentElement.classList.add('scripted');
const live = keepLive();
filterItems(live);
staySignedIn(live);
checkContents();
void showChain(live);
void showLog(live);
void signInWithOwnKey();
void answerWithOwnKey(live);
