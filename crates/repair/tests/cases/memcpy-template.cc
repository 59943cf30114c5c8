// durable bytes=20
#include <cstring>
#include <landfall.h>
template <typename T> static void persist(const T *object) { lf_persist(object, sizeof *object); }
void f(char *to, const char *from, unsigned long n) {
  /*@*/memcpy(to, from, n);
  persist(to);
}
