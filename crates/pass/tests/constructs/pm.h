// The persistent memory of the construct tests: 1 MiB, mapped by the recorder.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

#define PM ((char *)0x100000000000)

// A place in persistent memory whose address the optimiser does not know.
static inline void *pm(size_t offset) {
  char *base = PM;
  __asm__("" : "+r"(base));
  return base + offset;
}
