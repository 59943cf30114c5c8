/* Small programs after the PMDK examples in which PMVerify (Han and He, table 3) found that a power failure can leave what no moment
 * of an execution showed. Each shows the cause that the table names, as it is; with -DREPAIRED every store is made durable before the
 * next, which is how the paper repaired them. Nothing is asserted: what recovery looks at (SEE) is judged. */
#ifndef PMDK_H
#define PMDK_H

#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#ifdef REPAIRED
#define DURABLE(place) lf_persist(&(place), sizeof(place))
#else
#define DURABLE(place) ((void)(place))
#endif

#define SEE(place) ((void)*(volatile __typeof__(place) *)&(place))
#define LINE _Alignas(64)

#endif
