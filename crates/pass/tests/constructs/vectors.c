// Vectors of 8, 16, 32 and 64 bytes.
// options: -mavx512f
// needs: avx512f
#include "pm.h"

typedef int v2 __attribute__((vector_size(8)));
typedef int v4 __attribute__((vector_size(16)));
typedef int v8 __attribute__((vector_size(32)));
typedef long v8l __attribute__((vector_size(64)));

int main(void) {
  *(v2 *)pm(0) = (v2){1, 2};
  *(v4 *)pm(16) = (v4){1, 2, 3, 4};
  *(v8 *)pm(32) = (v8){1, 2, 3, 4, 5, 6, 7, 8};
  *(v8l *)pm(64) = (v8l){1, 2, 3, 4, 5, 6, 7, 8};
  v2 a = *(v2 *)pm(0);
  v4 b = *(v4 *)pm(16);
  v8 c = *(v8 *)pm(32);
  v8l d = *(v8l *)pm(64);
  assert(a[1] == 2 && b[3] == 4 && c[7] == 8 && d[7] == 8);
  return 0;
}
