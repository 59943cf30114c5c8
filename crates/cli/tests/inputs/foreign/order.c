/* Compiled without Landfall, as a library. */
#include <emmintrin.h>
static long locked;
void order(void) {
#ifdef FENCE
  FENCE;
#endif
}
