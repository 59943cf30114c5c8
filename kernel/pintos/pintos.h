/* For every source of Pintos, by `-include`: what its own C library would declare, and a heap that may be interrupted. */
#ifndef LANDFALL_PINTOS_H
#define LANDFALL_PINTOS_H

#include <landfall/kernel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t strlcpy(char *to, const char *from, size_t size);

#define malloc lfk_malloc
#define free lfk_free

#endif
