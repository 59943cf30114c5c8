#include "pool.h"
#include <immintrin.h>

void flush(long *p) { _mm_clflush(p); }
