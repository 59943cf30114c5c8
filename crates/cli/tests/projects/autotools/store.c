#include "pool.h"

void store(long *p) { *p = 1; }
