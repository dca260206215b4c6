#ifndef NACRE_TEST_FAKE_ZYGOTE_H
#define NACRE_TEST_FAKE_ZYGOTE_H

/*
 * What `nacre __zygote` would be if guests had taken its workers over: it forks workers
 * on request, and each does one wrong thing.  A test writes a script that runs the test's
 * own program as "PROGRAM fake DEED", and gives that script to the library.
 */

/* Serves until its supervisor closes the socket.  Does not return. */
_Noreturn void fake_zygote_main(const char *deed);

#endif
