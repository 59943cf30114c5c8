// durable
#include <immintrin.h>
#include <landfall.h>
void f(long long *to, const long long *from, int n, long long *length) {
  for (int i = 0; i < n; i++) {
    /*@*/_mm_stream_si64(to + i, from[i]);
  }
  *length /*@before*/= n;
  lf_persist(length, sizeof *length);
}
