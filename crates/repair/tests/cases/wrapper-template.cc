// durable
#include <cstdint>
#include <immintrin.h>
template <typename T> static void persist(const T *object) {
  auto line = reinterpret_cast<uintptr_t>(object) & ~uintptr_t(63);
  for (; line < reinterpret_cast<uintptr_t>(object + 1); line += 64)
    _mm_clwb(reinterpret_cast<void *>(line));
  _mm_sfence();
}
struct Root { uint64_t a, b; };
void f(Root &r) {
  r.a /*@*/= 1;
  r.b = 2;
  persist(&r.b);
}
