#ifndef NACRE_LAUNCH_H
#define NACRE_LAUNCH_H

/* `nacre-init launch`: makes the sandboxes that the host describes (spec.h), each with a
 * process of its own that becomes its pid 1 (init_main).  Returns the exit status. */
int launch_main(void);

/* `nacre-init inner`: one sandbox, as its pid 1. */
int launch_inner_main(void);

#endif
