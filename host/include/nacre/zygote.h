#ifndef NACRE_ZYGOTE_H
#define NACRE_ZYGOTE_H

/*
 * What `nacre __zygote` is: the process that an embedder's library spawns to fork
 * its workers from, because the embedder itself has threads.  argv[0] is the verb's
 * name.  Returns the exit status; nothing is printed but in an emergency.
 */
int nacre_zygote_main(int argc, char **argv);

#endif
