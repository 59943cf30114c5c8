#include "pool.h"
#include <immintrin.h>

void fence(void) { _mm_sfence(); }
