/* For every source of xv6, by `-include`: names that libc has as well. */
#ifndef LANDFALL_XV6_H
#define LANDFALL_XV6_H

#include <landfall/kernel.h>

#define exit xv6_exit
#define fork xv6_fork
#define kill xv6_kill
#define sleep xv6_sleep
#define wait xv6_wait
#define yield xv6_yield

#endif
