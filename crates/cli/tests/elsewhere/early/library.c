/* A library that uses the heap before the program starts, and gives some of it back. */
#include <stdlib.h>
#include <string.h>
void *kept;
__attribute__((constructor)) static void early(void) {
  void *block[8];
  for (int i = 0; i < 8; i++) memset(block[i] = malloc(24 * (i + 1)), 'e', 24 * (i + 1));
  kept = malloc(100);
  memset(kept, 'k', 100);
  for (int i = 0; i < 8; i++) free(block[i]);
}
